#include "tools/diff_command.h"

#include <fstream>
#include <iterator>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "analysis/json_text.h"
#include "analysis/replay_diff.h"
#include "analysis/replay_heap.h"
#include "analysis/replay_json.h"
#include "tools/replay_options.h"
#include "tools/standard_output.h"

namespace heaptape {
namespace {

struct DiffFlags {
  std::string a, b;
  ReplayOptions replay;
  std::vector<std::string> limits;
  std::string format = "text";
};

// A trace, which is replayed; or what `heaptape replay --format=json` has printed.
absl::StatusOr<nlohmann::ordered_json> Load(const std::string& path, const PlanOptions& plan, const ReplaySettings& settings) {
  std::ifstream file(path, std::ios::binary);
  if (file.peek() == '{') {
    const std::string text((std::istreambuf_iterator<char>(file)), std::istreambuf_iterator<char>());
    nlohmann::ordered_json json = nlohmann::ordered_json::parse(text, nullptr, /*allow_exceptions=*/false);
    if (json.is_discarded()) return absl::InvalidArgumentError(absl::StrCat(path, ": not JSON"));
    return json;
  }
  const absl::StatusOr<ReplayResult> result = ReplayTrace(path, plan, settings, "replaying");
  if (!result.ok()) return result.status();
  const absl::StatusOr<HolesReport> holes = FindHoles(*result, 0);
  if (!holes.ok()) return holes.status();
  return ReplayJson(path, *result, *holes, false);
}

absl::StatusOr<int> RunDiff(const DiffFlags& flags) {
  std::vector<DiffLimit> limits;
  for (const std::string& text : flags.limits) {
    absl::StatusOr<DiffLimit> limit = ParseDiffLimit(text);
    if (!limit.ok()) return UsageError(absl::StrCat("--fail-if: ", limit.status().message()));
    limits.push_back(*std::move(limit));
  }
  const absl::StatusOr<ReplaySettings> settings = SettingsOf(flags.replay);
  if (!settings.ok()) return settings.status();
  const absl::StatusOr<PlanOptions> plan = PlanOf(flags.replay);
  if (!plan.ok()) return plan.status();
  const absl::StatusOr<nlohmann::ordered_json> a = Load(flags.a, *plan, *settings);
  if (!a.ok()) return a.status();
  const absl::StatusOr<nlohmann::ordered_json> b = Load(flags.b, *plan, *settings);
  if (!b.ok()) return b.status();
  const absl::StatusOr<ReplayDiff> diff = DiffReplays(*a, *b);
  if (!diff.ok()) return diff.status();

  std::vector<std::string> broken;
  for (const DiffLimit& limit : limits) {
    absl::StatusOr<std::optional<std::string>> line = Broken(limit, *diff);
    if (!line.ok()) return line.status();
    if (line->has_value()) broken.push_back(**line);
  }
  std::string text;
  if (flags.format == "json") {
    text = JsonText(ReplayDiffJson(*diff, broken));
  } else {
    text = ReplayDiffText(*diff);
    for (const std::string& line : broken) absl::StrAppend(&text, "over the limit: ", line, "\n");
  }
  if (absl::Status status = WriteStandardOutput(text); !status.ok()) return status;
  return broken.empty() ? kExitOk : kExitFailed;
}

}  // namespace

void AddDiffCommand(CommandSet& commands) {
  auto flags = std::make_shared<DiffFlags>();
  CLI::App& app = commands.Add("diff", "Compares two replays, and fails where one is beyond a limit.",
                               [flags] { return RunDiff(*flags); });
  app.add_option("A", flags->a, "A trace, or what `heaptape replay --format=json` printed")->required();
  app.add_option("B", flags->b, "Another")->required();
  app.add_option("--fail-if", flags->limits, "Exit with 1 if this holds, as in 'end.system_bytes>+5%'; may be given several times")
      ->type_name("LIMIT");
  AddChoice(app, "--format", &flags->format, {"text", "json"}, "How to report");
  AddReplayOptions(app, &flags->replay);
  app.footer(
      "Traces are replayed under the settings given here; to compare settings, compare what two replays\n"
      "printed as JSON. A limit is a key as shown, then > >= < or <=, then a number: with a sign, of the\n"
      "change from A to B, perhaps in percent; without one, of B.");
}

}  // namespace heaptape
