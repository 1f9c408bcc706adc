#include "tools/growth_command.h"

#include <cstdint>
#include <memory>
#include <string>

#include "absl/strings/str_cat.h"
#include "analysis/growth.h"
#include "analysis/growth_json.h"
#include "analysis/growth_text.h"
#include "analysis/json_text.h"
#include "analysis/replay_text.h"
#include "replayer/driver/event_source.h"
#include "tools/replay_options.h"
#include "tools/standard_output.h"

namespace heaptape {
namespace {

struct GrowthFlags {
  std::string trace;
  ReplayOptions replay;
  std::string until;
  GrowthOptions growth;
  std::string format = "text";
};

absl::StatusOr<int> RunGrowth(const GrowthFlags& flags) {
  absl::StatusOr<ReplaySettings> settings = SettingsOf(flags.replay);
  if (!settings.ok()) return settings.status();
  // Steps are explained by replays that end in the middle, where nothing was trimmed.
  settings->trim_at_end = false;
  const absl::StatusOr<PlanOptions> plan = PlanOf(flags.replay, flags.until);
  if (!plan.ok()) return plan.status();

  ReplayResult all;
  const absl::StatusOr<GrowthReport> report = FindGrowth(
      TraceFile(flags.trace),
      [&](const PlanOptions& options) { return ReplayTrace(flags.trace, options, *settings, "looking for steps"); },
      *plan, flags.growth, &all);
  if (!report.ok()) return report.status();
  const std::string text = flags.format == "json"
                               ? JsonText(GrowthJson(*report))
                               : absl::StrCat(ReplayHeadText(flags.trace, all), "\n", GrowthText(*report));
  if (absl::Status status = WriteStandardOutput(text); !status.ok()) return status;
  return kExitOk;
}

}  // namespace

void AddGrowthCommand(CommandSet& commands) {
  auto flags = std::make_shared<GrowthFlags>();
  CLI::App& app = commands.Add("growth",
                               "Shows each step up of the memory that the allocator holds, and why no hole could serve it.",
                               [flags] { return RunGrowth(*flags); });
  app.add_option("TRACE", flags->trace, "The trace")->required();
  app.add_option("--until", flags->until, "Stop after this event")->type_name("EVENT");
  app.add_option("--top", flags->growth.steps, "How many of the largest steps to show")
      ->type_name("N")
      ->capture_default_str();
  app.add_option("--explain", flags->growth.explained, "How many of them, where a heap grew, to look into")
      ->type_name("N")
      ->capture_default_str();
  AddChoice(app, "--format", &flags->format, {"text", "json"}, "How to report");
  AddReplayOptions(app, &flags->replay);
  app.footer(
      "For each step looked into: what was asked for, what was free, the places that were nearest to large\n"
      "enough, and the calls that made the nearest and closed it in. Every step is one more replay, or two,\n"
      "that end just before it and where the block that pins the place was put there.");
}

}  // namespace heaptape
