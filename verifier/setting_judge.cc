#include "verifier/setting_judge.h"

#include <algorithm>
#include <iterator>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/strings/string_view.h"
#include "absl/strings/strip.h"

namespace heaptape {
namespace {

constexpr char kPrefix[] = "glibc.malloc.";

// Which parameter a tunable sets; kMallocParameters if none that can be read.
uint32_t ParameterOf(absl::string_view name) {
  if (!absl::ConsumePrefix(&name, kPrefix)) return kMallocParameters;
  uint32_t i = 0;
  while (i < kMallocSettings && name != kMallocParameterNames[i]) ++i;
  return i < kMallocSettings ? i : uint32_t{kMallocParameters};
}

// Whether a tunable is another part's of glibc, and not malloc's, however misspelt.
bool IsElsewhere(absl::string_view name) {
  constexpr absl::string_view kOthers[] = {"cpu.", "elision.", "gmon.", "mem.", "pthread.", "rtld."};
  if (!absl::ConsumePrefix(&name, "glibc.")) return false;
  return std::any_of(std::begin(kOthers), std::end(kOthers),
                     [name](absl::string_view other) { return absl::StartsWith(name, other); });
}

const WantedSetting* Find(const std::vector<WantedSetting>& settings, const std::string& name) {
  for (const WantedSetting& setting : settings) {
    if (setting.name == name) return &setting;
  }
  return nullptr;
}

class Judgement {
 public:
  Judgement(const ProcessFacts& process, const WantedSetting& wanted, const Tunables& known)
      : process_(process), known_(known), at_exec_(SettingsInEnvironment(process.environment)) {
    judged_.wanted = wanted;
  }

  JudgedSetting Judge() {
    const WantedSetting& wanted = judged_.wanted;
    const WantedSetting* const own = Find(at_exec_, wanted.name);
    if (own != nullptr) judged_.at_exec = own->value;
    if (const uint32_t parameter = ParameterOf(wanted.name); IsGlibcs() && parameter < kMallocParameters &&
                                                              process_.knows(MallocParameter(parameter)) && IsInUse()) {
      judged_.in_force = absl::StrCat(process_.parameters->values[parameter]);
    }
    if (known_.ranges().count(wanted.name) == 0) {
      const absl::string_view variable = NearestVariable(wanted.name);
      const std::string meant = absl::StartsWith(wanted.name, "MALLOC_") ? std::string(variable) : known_.Nearest(wanted.name);
      return No(Cause::kMisspelt, absl::StrCat("glibc ", process_.glibc_version, process_.glibc_version.empty() ? "" : " ",
                                               "knows no ", wanted.name, ", and ignores it without a word",
                                               meant.empty() ? "" : absl::StrCat("; ", meant, " is meant?")));
    }
    if (!IsGlibcs()) return NotGlibcs();

    const absl::StatusOr<std::string> checked = known_.Check(wanted.name, wanted.value);
    if (!checked.ok()) {
      return No(Cause::kRefused, absl::StrCat(checked.status().message(), "; glibc ignores such a value without a word"));
    }
    if (judged_.in_force.has_value() && *judged_.in_force == *checked) {
      judged_.verdict = Verdict::kInForce;
      if (own == nullptr || process_.is_secure) judged_.explanation = "by a call of mallopt; the environment does not set it";
      return judged_;
    }
    if (process_.is_secure) {
      return No(Cause::kSecure, absl::StrCat(process_.program, " is set-user-id, set-group-id or has file capabilities"
                                             " (AT_SECURE): glibc ignores such variables there; let the program call mallopt"));
    }
    if (own == nullptr) return NotAtExec();
    const absl::StatusOr<std::string> own_value = known_.Check(own->name, own->value);
    if (!own_value.ok() || *own_value != *checked) {
      return No(Cause::kOtherValue, absl::StrCat(own->asked_by, " says ", own->value, " where ", *checked, " is wanted"));
    }
    return SetAtExec(*checked);
  }

 private:
  bool IsGlibcs() const { return process_.c_library == CLibrary::kGlibc && process_.allocator.empty(); }

  // Whether malloc has been called: only then it reads its settings.
  bool IsInUse() const {
    const MallocParameters& now = *process_.parameters;
    return process_.probed_itself || process_.layout.offsets[kHeapStart] == 0 || now.values[kHeapStart] != 0 ||
           now.values[kMostMmappedBlocks] != 0 || now.values[kThresholdIsFixed] != 0;
  }

  JudgedSetting No(Cause cause, std::string explanation, Verdict verdict = Verdict::kNotInForce) {
    judged_.verdict = verdict;
    judged_.cause = cause;
    judged_.explanation = std::move(explanation);
    return judged_;
  }

  JudgedSetting NotGlibcs() {
    const std::string& program = process_.program;
    switch (process_.c_library) {
      case CLibrary::kGlibc:
        return No(Cause::kOtherAllocator,
                  absl::StrCat(process_.allocator, " serves malloc, and no setting of glibc's reaches it"));
      case CLibrary::kStatic:
        return No(Cause::kStatic,
                  absl::StrCat(program, " is statically linked: its malloc is inside it and cannot be looked at; if it is "
                                        "glibc's, it does heed GLIBC_TUNABLES"),
                  Verdict::kUnknown);
      case CLibrary::kOther:
        return No(Cause::kOtherLibrary, absl::StrCat(program, " does not run with glibc: its dynamic linker is ",
                                                     process_.c_library_path));
      case CLibrary::k32Bit:
        return No(Cause::k32Bit, absl::StrCat(program, " is a 32-bit program, whose malloc cannot be looked at"),
                  Verdict::kUnknown);
      case CLibrary::kUnknown:
        break;
    }
    return No(Cause::kUnreadable, process_.unreadable, Verdict::kUnknown);
  }

  // Nothing in the environment at exec sets it.
  JudgedSetting NotAtExec() {
    const std::string& name = judged_.wanted.name;
    if (process_.later_environment.has_value()) {
      const std::vector<WantedSetting> later = SettingsInEnvironment(*process_.later_environment);
      if (const WantedSetting* const setting = Find(later, name)) {
        return No(Cause::kSetAfterStart,
                  absl::StrCat(setting->asked_by, " was set when the process had started (os.environ, setenv, putenv), and "
                               "glibc reads it before main: set it where the process is started, or start it anew"));
      }
    }
    for (const WantedSetting& setting : at_exec_) {
      if (known_.ranges().count(setting.name) > 0) continue;
      const bool is_variable = absl::StartsWith(setting.name, "MALLOC_");
      const std::string meant =
          is_variable ? std::string(TunableOfVariable(NearestVariable(setting.name))) : known_.Nearest(setting.name);
      if (meant != name) continue;
      return No(Cause::kMisspelt,
                absl::StrCat("the environment has ", setting.name, ", which glibc does not know and ignores without a word; ",
                             is_variable ? std::string(NearestVariable(setting.name)) : meant, " is meant?"));
    }
    if (judged_.wanted.asked_by == "parent") {
      return No(Cause::kNotInherited,
                absl::StrCat("the process that started it, ", process_.parent_pid,
                             ", has it, and started it with another environment (env -i, sudo, su, a list of variables)"));
    }
    const MallocParameters* const now = process_.parameters.has_value() ? &*process_.parameters : nullptr;
    const bool moved = name == "glibc.malloc.mmap_threshold" && judged_.in_force.has_value() &&
                       process_.layout.offsets[kThresholdIsFixed] != 0 && now->values[kThresholdIsFixed] == 0;
    return No(Cause::kNotSet,
              absl::StrCat("nothing in the environment that the process was started with sets it (exported in another shell, "
                           "or after it was started?)",
                           moved ? "; glibc moves this threshold by itself" : ""));
  }

  // The environment at exec asks for `value`, which glibc knows and allows.
  JudgedSetting SetAtExec(const std::string& value) {
    const std::string& name = judged_.wanted.name;
    const auto probe = process_.probes.find(name);
    const ProbeResult probed = probe == process_.probes.end() ? ProbeResult::kNotProbed : probe->second;
    const uint32_t parameter = ParameterOf(name);
    if (judged_.in_force.has_value()) {
      // Other than wanted. What a fresh process has tells a change from a refusal, which is
      // rare: the value is in range.
      const bool was = !process_.fresh.has_value() || absl::StrCat(process_.fresh->values[parameter]) == value;
      if (!was && process_.mallopt_calls == 0) {
        return No(Cause::kRefused, absl::StrCat("glibc ", process_.glibc_version, " does not take ", value, " for it"));
      }
      return No(Cause::kOverridden,
                absl::StrCat("a call of mallopt by the program has set it to ", *judged_.in_force, " since it was started"));
    }
    if (probed == ProbeResult::kIgnored) {
      return No(Cause::kRefused, absl::StrCat("glibc ", process_.glibc_version, " shows no effect of ", value));
    }
    if (probed == ProbeResult::kInForce && process_.probed_itself) {
      judged_.verdict = Verdict::kInForce;
      return judged_;
    }
    judged_.verdict = Verdict::kByEnvironment;
    if (!process_.unreadable.empty()) {
      judged_.explanation = absl::StrCat("told by its environment alone: ", process_.unreadable);
    } else if (parameter < kMallocParameters && process_.parameters.has_value()) {
      judged_.explanation = "told by its environment alone: it has not called malloc yet";
    } else {
      judged_.explanation = "told by its environment alone: glibc does not keep it where it can be read";
    }
    return judged_;
  }

  const ProcessFacts& process_;
  const Tunables& known_;
  const std::vector<WantedSetting> at_exec_;
  JudgedSetting judged_;
};

}  // namespace

std::vector<WantedSetting> SettingsInEnvironment(const std::vector<std::string>& environment) {
  std::vector<WantedSetting> settings, older;
  for (const std::string& entry : environment) {
    const std::pair<std::string, std::string> variable = absl::StrSplit(entry, absl::MaxSplits('=', 1));
    if (variable.first == "GLIBC_TUNABLES") {
      for (absl::string_view text : absl::StrSplit(variable.second, ':', absl::SkipEmpty())) {
        const std::pair<std::string, std::string> setting = absl::StrSplit(text, absl::MaxSplits('=', 1));
        if (IsElsewhere(setting.first)) continue;
        const auto there = std::find_if(settings.begin(), settings.end(),
                                        [&setting](const WantedSetting& other) { return other.name == setting.first; });
        if (there != settings.end()) {
          there->value = setting.second;  // the last one counts
        } else {
          settings.push_back({setting.first, setting.second, variable.first});
        }
      }
      continue;
    }
    const std::string tunable(TunableOfVariable(variable.first));
    if (!tunable.empty()) {
      older.push_back({tunable, variable.second, variable.first});
    } else if (absl::StartsWith(variable.first, "MALLOC_") && !NearestVariable(variable.first).empty()) {
      older.push_back({variable.first, variable.second, variable.first});
    }
  }
  for (WantedSetting& setting : older) {
    if (Find(settings, setting.name) == nullptr) settings.push_back(std::move(setting));
  }
  return settings;
}

std::vector<JudgedSetting> Judge(const ProcessFacts& process, const std::vector<WantedSetting>& wanted,
                                 const Tunables& known) {
  std::vector<JudgedSetting> judged;
  for (const WantedSetting& setting : wanted) judged.push_back(Judgement(process, setting, known).Judge());
  return judged;
}

const char* VerdictKey(Verdict verdict) {
  switch (verdict) {
    case Verdict::kInForce:
      return "in_force";
    case Verdict::kByEnvironment:
      return "by_environment";
    case Verdict::kNotInForce:
      return "not_in_force";
    case Verdict::kUnknown:
      break;
  }
  return "unknown";
}

const char* CauseKey(Cause cause) {
  switch (cause) {
    case Cause::kNone:
      break;
    case Cause::kMisspelt:
      return "misspelt";
    case Cause::kRefused:
      return "refused";
    case Cause::kOtherValue:
      return "other_value";
    case Cause::kSetAfterStart:
      return "set_after_start";
    case Cause::kNotInherited:
      return "not_inherited";
    case Cause::kNotSet:
      return "not_set";
    case Cause::kSecure:
      return "secure_execution";
    case Cause::kOtherAllocator:
      return "other_allocator";
    case Cause::kOverridden:
      return "overridden";
    case Cause::kStatic:
      return "static";
    case Cause::kOtherLibrary:
      return "other_c_library";
    case Cause::k32Bit:
      return "32_bit";
    case Cause::kUnreadable:
      return "unreadable";
  }
  return "";
}

}  // namespace heaptape
