#include "verifier/verification.h"

#include <algorithm>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "analysis/json_text.h"
#include "analysis/text_table.h"

namespace heaptape {
namespace {

using nlohmann::ordered_json;

bool IsInForce(const JudgedSetting& setting) {
  return setting.verdict == Verdict::kInForce || setting.verdict == Verdict::kByEnvironment;
}

bool AllInForce(const VerifiedProcess& process) {
  return std::all_of(process.settings.begin(), process.settings.end(), IsInForce);
}

// Text of unknown origin, paths and command lines, in which nothing can disturb a terminal.
std::string OneLine(std::string text) {
  for (char& c : text) {
    if (static_cast<unsigned char>(c) < ' ' || c == 0x7f) c = ' ';
  }
  return text;
}

std::string Shortened(const std::string& text) {
  constexpr size_t kMost = 80;
  return text.size() <= kMost ? text : absl::StrCat(text.substr(0, kMost), "...");
}

std::string FileName(const std::string& path) { return path.substr(path.rfind('/') + 1); }

// 65536 as "65,536"; what is no number as it is.
std::string ValueText(const std::optional<std::string>& value) {
  uint64_t number = 0;
  if (!value.has_value()) return "-";
  return absl::SimpleAtoi(*value, &number) ? Grouped(number) : OneLine(*value);
}

std::string VerdictText(const JudgedSetting& setting) {
  switch (setting.verdict) {
    case Verdict::kInForce:
      return "in force";
    case Verdict::kByEnvironment:
      return "in force, by the environment alone";
    case Verdict::kNotInForce:
      return "NOT in force";
    case Verdict::kUnknown:
      break;
  }
  return "not known";
}

std::string AskedByText(const std::string& asked_by) {
  if (asked_by == "option") return "this command";
  if (asked_by == "parent") return "the parent's environment";
  return OneLine(asked_by);
}

std::string LibraryText(const ProcessFacts& facts) {
  const std::string path = OneLine(facts.c_library_path);
  switch (facts.c_library) {
    case CLibrary::kGlibc:
      return absl::StrCat("glibc", facts.glibc_version.empty() ? "" : " ", facts.glibc_version, ", ", path,
                          facts.allocator.empty() ? "" : absl::StrCat("; malloc from ", OneLine(facts.allocator)));
    case CLibrary::kStatic:
      return "statically linked";
    case CLibrary::kOther:
      return absl::StrCat("not glibc: ", path);
    case CLibrary::k32Bit:
      return "32-bit";
    case CLibrary::kUnknown:
      break;
  }
  return "not known";
}

std::string SeenText(const ProcessFacts& facts) {
  std::vector<std::string> seen;
  if (facts.c_library != CLibrary::kUnknown) seen.push_back("the environment at exec");
  if (facts.probed_itself) seen.push_back("how malloc behaves in the process");
  if (facts.parameters.has_value()) seen.push_back("what malloc goes by in its memory");
  if (!facts.probes.empty() && !facts.probed_itself) seen.push_back("a fresh process under the same environment");
  if (seen.empty() || facts.is_refused) return absl::StrCat("nothing: ", facts.unreadable);
  return absl::StrJoin(seen, "; ");
}

void AddProcess(const VerifiedProcess& process, std::string* text) {
  const ProcessFacts& facts = process.facts;
  const std::string name = facts.command.empty() ? facts.program : facts.command;
  absl::StrAppend(text, "process    ", facts.pid, " (", Shortened(OneLine(name)), ")\n", "libc       ", LibraryText(facts), "\n",
                  "seen       ", SeenText(facts), "\n\n");
  if (process.settings.empty()) {
    absl::StrAppend(text, "nothing is set here: there is no setting of malloc's in its environment at exec\n\n");
    return;
  }
  TextTable table("lrrrll");
  table.Add({"setting", "wanted", "at exec", "in force", "", "wanted by"});
  for (const JudgedSetting& setting : process.settings) {
    table.Add({OneLine(setting.wanted.name), ValueText(setting.wanted.value), ValueText(setting.at_exec),
               ValueText(setting.in_force), VerdictText(setting), AskedByText(setting.wanted.asked_by)});
  }
  absl::StrAppend(text, table.Render(0), "\n");
  // Several may have one and the same reason.
  std::vector<std::string> told;
  for (const JudgedSetting& setting : process.settings) {
    const std::string& explanation = setting.explanation;
    if (explanation.empty() || std::find(told.begin(), told.end(), explanation) != told.end()) continue;
    told.push_back(explanation);
    std::vector<std::string> names;
    for (const JudgedSetting& other : process.settings) {
      if (other.explanation == explanation) names.push_back(OneLine(other.wanted.name));
    }
    absl::StrAppend(text, absl::StrJoin(names, ", "), ": ", OneLine(explanation), "\n");
  }
  if (!told.empty()) absl::StrAppend(text, "\n");
}

// What nobody set is of interest too: above all a threshold that has moved.
void AddParameters(const ProcessFacts& facts, std::string* text) {
  if (!facts.parameters.has_value() || !facts.allocator.empty()) return;
  TextTable table("lrl");
  const auto value = [&facts](MallocParameter parameter) { return facts.parameters->values[parameter]; };
  for (uint32_t i = 0; i < kMallocSettings; ++i) {
    const MallocParameter parameter = MallocParameter(i);
    if (!facts.knows(parameter)) continue;
    std::string remark;
    if (parameter == kMmapThreshold && facts.knows(kThresholdIsFixed)) {
      const bool moved = facts.fresh.has_value() && facts.fresh->values[parameter] != value(parameter);
      remark = value(kThresholdIsFixed) != 0 ? "fixed, since something sets one of the first four"
               : moved                       ? "moved up by glibc when mapped blocks were freed, since nothing fixes it"
                                             : "glibc moves it up when mapped blocks are freed, since nothing fixes it";
    } else if (parameter == kArenaMax && value(parameter) == 0) {
      remark = "no limit set: 8 for each processor";
    }
    table.Add({kMallocParameterNames[i], Grouped(value(parameter)), remark});
  }
  if (facts.knows(kMmappedBlocks)) {
    table.Add({"mapped blocks", Grouped(value(kMmappedBlocks)), absl::StrCat("at most ", Grouped(value(kMostMmappedBlocks)))});
  }
  absl::StrAppend(text, "malloc goes by\n", table.Render(2), "\n");
}

ordered_json OrNull(const std::optional<std::string>& value) {
  if (!value.has_value()) return nullptr;
  uint64_t number = 0;
  return absl::SimpleAtoi(*value, &number) ? ordered_json(number) : ordered_json(*value);
}

const char* LibraryKey(CLibrary library) {
  switch (library) {
    case CLibrary::kGlibc:
      return "glibc";
    case CLibrary::kStatic:
      return "static";
    case CLibrary::kOther:
      return "other";
    case CLibrary::k32Bit:
      return "32_bit";
    case CLibrary::kUnknown:
      break;
  }
  return "unknown";
}

ordered_json ProcessJson(const VerifiedProcess& process) {
  const ProcessFacts& facts = process.facts;
  ordered_json settings = ordered_json::array();
  for (const JudgedSetting& setting : process.settings) {
    settings.push_back({{"name", setting.wanted.name},
                        {"wanted", OrNull(setting.wanted.value)},
                        {"wanted_by", setting.wanted.asked_by},
                        {"at_exec", OrNull(setting.at_exec)},
                        {"in_force", OrNull(setting.in_force)},
                        {"verdict", VerdictKey(setting.verdict)},
                        {"cause", setting.cause == Cause::kNone ? ordered_json() : ordered_json(CauseKey(setting.cause))},
                        {"explanation", setting.explanation}});
  }
  ordered_json parameters;
  if (facts.parameters.has_value()) {
    for (uint32_t i = 0; i < kMallocParameters; ++i) {
      // Where the heap begins is an address, another one each time.
      if (i != kHeapStart && facts.knows(MallocParameter(i))) {
        parameters[kMallocParameterNames[i]] = facts.parameters->values[i];
      }
    }
  }
  return {{"pid", facts.pid},
          {"parent_pid", facts.parent_pid},
          {"program", facts.program},
          {"c_library", LibraryKey(facts.c_library)},
          {"glibc_version", facts.glibc_version.empty() ? ordered_json() : ordered_json(facts.glibc_version)},
          {"allocator", facts.allocator.empty() ? ordered_json() : ordered_json(facts.allocator)},
          {"secure_execution", facts.is_secure},
          {"environment", facts.environment},
          {"probed_itself", facts.probed_itself},
          {"unreadable", facts.unreadable.empty() ? ordered_json() : ordered_json(facts.unreadable)},
          {"parameters", parameters},
          {"settings", settings}};
}

}  // namespace

bool Verification::asks_for_any() const {
  return std::any_of(processes.begin(), processes.end(), [](const VerifiedProcess& p) { return !p.settings.empty(); });
}

bool Verification::in_force() const {
  return asks_for_any() && std::all_of(processes.begin(), processes.end(), AllInForce);
}

std::string VerificationText(const Verification& verification) {
  // The first, and those where something is wrong, at length; workers tend to be many
  // and alike.
  constexpr size_t kAtLength = 5, kRows = 20;
  std::string text;
  size_t at_length = 0;
  std::vector<const VerifiedProcess*> brief, wrong;
  for (const VerifiedProcess& process : verification.processes) {
    const bool is_first = &process == &verification.processes.front();
    if (is_first || (!AllInForce(process) && at_length < kAtLength)) {
      AddProcess(process, &text);
      if (is_first) AddParameters(process.facts, &text);
      ++at_length;
    } else {
      (AllInForce(process) ? brief : wrong).push_back(&process);
    }
  }
  brief.insert(brief.begin(), wrong.begin(), wrong.end());
  if (!brief.empty()) {
    TextTable table("rll");
    table.Add({"pid", "program", ""});
    for (size_t i = 0; i < std::min(brief.size(), kRows); ++i) {
      const VerifiedProcess& process = *brief[i];
      table.Add({absl::StrCat(process.facts.pid), OneLine(FileName(process.facts.program)),
                 process.facts.is_refused    ? "may not be read"
                 : process.settings.empty() ? "nothing is asked for"
                 : AllInForce(process)      ? "all in force"
                                            : "NOT all in force"});
    }
    if (brief.size() > kRows) table.Add({"", absl::StrCat("[", Grouped(brief.size() - kRows), " others]"), ""});
    absl::StrAppend(&text, "others\n", table.Render(2), "\n");
  }
  uint64_t settings = 0, not_in_force = 0;
  for (const VerifiedProcess& process : verification.processes) {
    settings += process.settings.size();
    not_in_force += std::count_if(process.settings.begin(), process.settings.end(),
                                  [](const JudgedSetting& setting) { return !IsInForce(setting); });
  }
  const size_t count = verification.processes.size();
  const std::string where = absl::StrCat(Grouped(count), count == 1 ? " process" : " processes");
  if (settings == 0) {
    absl::StrAppend(&text, "nothing is set\n");
  } else if (not_in_force == 0) {
    absl::StrAppend(&text, "all in force: ", Counted(settings, "setting"), " in ", where, "\n");
  } else {
    absl::StrAppend(&text, "NOT all in force: ", Grouped(not_in_force), " of ", Counted(settings, "setting"), " in ", where,
                    " ", not_in_force == 1 ? "is" : "are", " not\n");
  }
  return text;
}

std::string VerificationJson(const Verification& verification) {
  ordered_json processes = ordered_json::array();
  for (const VerifiedProcess& process : verification.processes) processes.push_back(ProcessJson(process));
  return JsonText({{"in_force", verification.in_force()},
                   {"asks_for_any", verification.asks_for_any()},
                   {"exit_status", verification.exit_status.has_value() ? ordered_json(*verification.exit_status)
                                                                        : ordered_json()},
                   {"processes", processes}});
}

}  // namespace heaptape
