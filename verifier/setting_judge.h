// Is a setting in force, and if not, why not?
//
// Mainland; functions of values, no state.

#ifndef HEAPTAPE_VERIFIER_SETTING_JUDGE_H_
#define HEAPTAPE_VERIFIER_SETTING_JUDGE_H_

#include <optional>
#include <string>
#include <vector>

#include "replayer/driver/tunables.h"
#include "verifier/process_facts.h"

namespace heaptape {

// What should be in force, and who says so.
struct WantedSetting {
  std::string name;  // "glibc.malloc.mmap_threshold", or as it was misspelt
  std::string value;
  // "GLIBC_TUNABLES", "MALLOC_ARENA_MAX" and the like in the process's own environment;
  // "option" on our command line; "parent": the process that started this one has it.
  std::string asked_by;
};

enum class Verdict {
  kInForce,        // malloc goes by it
  kByEnvironment,  // it was there in time, and this glibc heeds it; the process itself does not show it
  kNotInForce,
  kUnknown,
};

// Of a setting that is not in force, or of which that is not known.
enum class Cause {
  kNone,
  kMisspelt,        // glibc does not know the name
  kRefused,         // glibc ignores such a value
  kOtherValue,      // the environment asks for another
  kSetAfterStart,   // it is in the process's environment now, and was not at exec
  kNotInherited,    // the parent has it
  kNotSet,          // nothing asks for it
  kSecure,          // set-user-id and the like
  kOtherAllocator,  // glibc's malloc does not serve the program
  kOverridden,      // by mallopt, since the start
  kStatic,
  kOtherLibrary,
  k32Bit,
  kUnreadable,
};

struct JudgedSetting {
  WantedSetting wanted;
  std::optional<std::string> at_exec;   // its value in the environment at exec
  std::optional<std::string> in_force;  // the value that malloc goes by, where that is known
  Verdict verdict = Verdict::kUnknown;
  Cause cause = Cause::kNone;
  std::string explanation;  // a sentence, without its full stop; empty where there is nothing to say
};

// What an environment asks for: each setting of GLIBC_TUNABLES that is malloc's, or no
// one's; the older variables where that is silent; and variables that look like one
// of those. In order.
std::vector<WantedSetting> SettingsInEnvironment(const std::vector<std::string>& environment);

// `known` are the tunables of the process's glibc.
std::vector<JudgedSetting> Judge(const ProcessFacts& process, const std::vector<WantedSetting>& wanted,
                                 const Tunables& known);

// "set_after_start" and the like: stable.
const char* VerdictKey(Verdict verdict);
const char* CauseKey(Cause cause);

}  // namespace heaptape

#endif  // HEAPTAPE_VERIFIER_SETTING_JUDGE_H_
