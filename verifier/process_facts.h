// ProcessFacts: all that is known of a process before its settings are judged.
//
// Mainland; plain values, and where those that /proc tells come from. Nothing is
// injected into the process, and nothing in it is stopped.

#ifndef HEAPTAPE_VERIFIER_PROCESS_FACTS_H_
#define HEAPTAPE_VERIFIER_PROCESS_FACTS_H_

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "replayer/plan/instruction.h"
#include "verifier/malloc_layout.h"

namespace heaptape {

// Which C library the process runs with.
enum class CLibrary {
  kGlibc,
  kStatic,   // one that is linked into the program, whichever
  kOther,    // musl, or another
  k32Bit,    // whichever
  kUnknown,  // the process does not say; `unreadable` tells why
};

struct ProcessFacts {
  int pid = 0;
  int parent_pid = 0;
  std::string program;  // path; where that may not be read, its name
  std::string command;  // with its arguments; empty if not known

  CLibrary c_library = CLibrary::kUnknown;
  std::string c_library_path;   // of libc.so.6, or of the dynamic linker of another C library
  std::string glibc_version;  // empty if not known
  std::string glibc_directory;  // where its glibc can be opened from here; empty if not known
  std::string allocator;      // path of the object that serves malloc instead of glibc; empty: none does
  bool is_secure = false;     // AT_SECURE: glibc hides settings from it

  // GLIBC_TUNABLES and MALLOC_* alone, as NAME=VALUE.
  std::vector<std::string> environment;                       // at exec
  std::optional<std::vector<std::string>> later_environment;  // now

  // What malloc goes by, where that could be read; by the layout's offsets.
  MallocLayout layout = {};
  std::optional<MallocParameters> parameters;
  // The same in a fresh process under this environment.
  std::optional<MallocParameters> fresh;
  // What came of trying settings out, by tunable; in the process itself, or in a
  // fresh one under its environment.
  std::map<std::string, ProbeResult> probes;
  bool probed_itself = false;
  uint64_t mallopt_calls = 0;  // seen

  bool is_refused = false;  // nothing of it may be read

  // Why some of this is not known, as a clause: "process 7 may not be read ...".
  std::string unreadable;

  bool knows(MallocParameter parameter) const { return parameters.has_value() && layout.offsets[parameter] != 0; }
};

// Where libc.so.6 of a process is.
struct LoadedLibc {
  std::string path;  // as it can be opened from here; empty if it has been replaced
  uint64_t base = 0;
};

// Everything but parameters, fresh and probes. NotFound if there is no such process;
// what may not be read is left out, and `unreadable` says so. `libc` is filled in
// where the C library is glibc.
absl::StatusOr<ProcessFacts> ReadProcess(int pid, LoadedLibc* libc);

// Out of the process's memory. PermissionDenied where it may not be read.
absl::StatusOr<MallocParameters> ReadParameters(int pid, uint64_t libc_base, const MallocLayout& layout);

// Living processes that descend from `pid`, parents before children, else by number.
std::vector<int> Descendants(int pid);

// Whether malloc's settings may come from that variable, given as NAME=VALUE.
bool IsSettingVariable(const std::string& entry);
// Those variables of a /proc/PID/environ. glibc (2.26 to 2.38) ends each setting in
// GLIBC_TUNABLES where it stands, by a zero byte instead of the colon: what follows
// looks like variables with a dot in their names.
std::vector<std::string> SettingVariables(const std::string& environ);

}  // namespace heaptape

#endif  // HEAPTAPE_VERIFIER_PROCESS_FACTS_H_
