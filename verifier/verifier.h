// Verifier: looks at processes, and says which settings are in force in them.
//
// Mainland. One thread at a time. A process that runs is looked at from outside:
// nothing is injected into it, and it is not stopped. A command is run with a library
// that tries settings out inside; what that library does not reach is looked at from
// outside too.

#ifndef HEAPTAPE_VERIFIER_VERIFIER_H_
#define HEAPTAPE_VERIFIER_VERIFIER_H_

#include <map>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "replayer/driver/tunables.h"
#include "verifier/setting_judge.h"
#include "verifier/verification.h"
#include "verifier/witness_run.h"

namespace heaptape {

// Where programs of ours are.
struct VerifierFiles {
  std::string witness;
  std::string probe;
  std::string engine;
};

class Verifier {
 public:
  // Each process must have what is `expected`, besides what its own environment and
  // that of its parent ask for.
  static absl::StatusOr<Verifier> Create(VerifierFiles files, std::vector<WantedSetting> expected);

  // The process and all that descend from it, as they are now. NotFound if there is none.
  absl::StatusOr<Verification> VerifyProcess(int pid);

  // Runs the command to its end, on our own input and output. All programs that it ran;
  // of one process that was several, the last. A program that does not load the library,
  // and is gone within milliseconds, may be missed.
  absl::StatusOr<Verification> VerifyCommand(const std::vector<std::string>& command);

 private:
  // What is known of a libc.so.6.
  struct KnownGlibc {
    std::string directory;
    Tunables tunables;
    absl::StatusOr<WitnessedGlibc> witnessed;
  };

  Verifier(VerifierFiles files, std::vector<WantedSetting> expected, Tunables system_tunables)
      : files_(std::move(files)), expected_(std::move(expected)), system_tunables_(std::move(system_tunables)) {}

  // By the path that it can be opened by from here.
  absl::StatusOr<const KnownGlibc*> Know(const std::string& libc_path);
  // All of it but what takes time and can be found out later as well: TryEnvironment.
  absl::StatusOr<ProcessFacts> LookFromOutside(int pid);
  void TryEnvironment(ProcessFacts* facts);
  // Those of the process's glibc.
  const Tunables& TunablesOf(const ProcessFacts& facts) const;
  // `inherited` are settings that the processes have which started this one.
  VerifiedProcess Verify(ProcessFacts facts, const std::vector<WantedSetting>& inherited);

  VerifierFiles files_;
  std::vector<WantedSetting> expected_;
  std::map<std::pair<uint64_t, uint64_t>, KnownGlibc> glibcs_;  // by device and inode
  Tunables system_tunables_;
};

}  // namespace heaptape

#endif  // HEAPTAPE_VERIFIER_VERIFIER_H_
