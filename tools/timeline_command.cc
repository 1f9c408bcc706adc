#include "tools/timeline_command.h"

#include <cstdint>
#include <memory>
#include <string>

#include "absl/strings/str_cat.h"
#include "analysis/full_report.h"
#include "analysis/json_text.h"
#include "analysis/replay_text.h"
#include "analysis/timeline.h"
#include "tools/replay_options.h"
#include "tools/standard_output.h"

namespace heaptape {
namespace {

constexpr size_t kChartWidth = 100;
constexpr size_t kChartHeight = 20;

struct TimelineFlags {
  std::string trace;
  ReplayOptions replay;
  uint64_t points = 2048;
  std::string format = "text";
};

absl::StatusOr<int> RunTimeline(const TimelineFlags& flags) {
  const absl::StatusOr<ReplaySettings> settings = SettingsOf(flags.replay);
  if (!settings.ok()) return settings.status();
  const absl::StatusOr<PlanOptions> plan = PlanOf(flags.replay);
  if (!plan.ok()) return plan.status();
  const absl::StatusOr<ReplayResult> result = ReplayTrace(flags.trace, *plan, *settings, "replaying");
  if (!result.ok()) return result.status();
  Timeline timeline;
  timeline.points = result->timeline;
  absl::Status read = ReadTrace(flags.trace, 0, nullptr, &timeline.recorded);
  if (!read.ok()) return read;
  timeline = Thinned(timeline, flags.points);
  const std::string text =
      flags.format == "csv"    ? TimelineCsv(timeline)
      : flags.format == "json" ? JsonText(TimelineJson(timeline))
                               : absl::StrCat(ReplayHeadText(flags.trace, *result), "\n",
                                              TimelineChart(timeline, kChartWidth, kChartHeight));
  if (absl::Status status = WriteStandardOutput(text); !status.ok()) return status;
  return kExitOk;
}

}  // namespace

void AddTimelineCommand(CommandSet& commands) {
  auto flags = std::make_shared<TimelineFlags>();
  CLI::App& app = commands.Add("timeline", "Shows requested, usable, system and resident bytes over a replay.",
                               [flags] { return RunTimeline(*flags); });
  app.add_option("TRACE", flags->trace, "The trace")->required();
  app.add_option("--points", flags->points, "How many, at most")->type_name("N")->capture_default_str();
  AddChoice(app, "--format", &flags->format, {"text", "csv", "json"}, "How to report");
  AddReplayOptions(app, &flags->replay);
  app.footer(
      "Beside them is what the recorded program's resident memory was at that event, where the recorder saw\n"
      "it: of the whole process, not the heap alone.");
}

}  // namespace heaptape
