// Verification: what was asked for, and what is in force, in a process and those
// below it.
//
// Mainland; plain values.

#ifndef HEAPTAPE_VERIFIER_VERIFICATION_H_
#define HEAPTAPE_VERIFIER_VERIFICATION_H_

#include <optional>
#include <string>
#include <vector>

#include "verifier/process_facts.h"
#include "verifier/setting_judge.h"

namespace heaptape {

struct VerifiedProcess {
  ProcessFacts facts;
  std::vector<JudgedSetting> settings;  // none: nobody asks for any here
};

struct Verification {
  std::vector<VerifiedProcess> processes;  // parents before children
  std::optional<int> exit_status;          // of the command that was run; 128 and the signal if one ended it

  // Whether any process has a setting to be judged.
  bool asks_for_any() const;
  // Whether all of them are in force, as far as can be told; and there are some.
  bool in_force() const;
};

std::string VerificationText(const Verification& verification);
// One object; keys are stable.
std::string VerificationJson(const Verification& verification);

}  // namespace heaptape

#endif  // HEAPTAPE_VERIFIER_VERIFICATION_H_
