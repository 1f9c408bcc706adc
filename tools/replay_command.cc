#include "tools/replay_command.h"

#include <cstddef>
#include <memory>
#include <string>

#include "absl/strings/str_cat.h"
#include "analysis/json_text.h"
#include "analysis/replay_heap.h"
#include "analysis/replay_json.h"
#include "analysis/replay_text.h"
#include "analysis/report_document.h"
#include "analysis/report_markdown.h"
#include "replayer/driver/replay_result.h"
#include "tools/replay_options.h"
#include "tools/standard_output.h"

namespace heaptape {
namespace {

struct ReplayFlags {
  std::string trace;
  ReplayOptions replay;
  std::string until;
  std::string format = "text";
};

std::string Rendered(const ReplayFlags& flags, const ReplayResult& result, const HolesReport& holes, bool checked) {
  if (flags.format == "json") return JsonText(ReplayJson(flags.trace, result, holes, checked));
  if (flags.format == "markdown") {
    constexpr size_t kAllRows = 100;
    return absl::StrCat("```\n", ReplayHeadText(flags.trace, result, checked), "```\n",
                        SectionMarkdown(DescribeReplay(result), kAllRows), SectionMarkdown(DescribeHeap(holes), kAllRows));
  }
  return ReplayText(flags.trace, result, holes, checked);
}

absl::StatusOr<int> RunReplay(const ReplayFlags& flags) {
  const absl::StatusOr<ReplaySettings> settings = SettingsOf(flags.replay);
  if (!settings.ok()) return settings.status();
  const absl::StatusOr<PlanOptions> plan = PlanOf(flags.replay, flags.until);
  if (!plan.ok()) return plan.status();

  const absl::StatusOr<ReplayResult> result = ReplayTrace(flags.trace, *plan, *settings, "replaying");
  if (!result.ok()) return result.status();
  const absl::StatusOr<HolesReport> holes = FindHoles(*result, 0);
  if (!holes.ok()) return holes.status();
  const bool checked = settings->check && !result->stopped;
  const std::string report = Rendered(flags, *result, *holes, checked);
  if (absl::Status status = WriteStandardOutput(report); !status.ok()) return status;
  return result->stopped ? kExitFailed : kExitOk;
}

}  // namespace

void AddReplayCommand(CommandSet& commands) {
  auto flags = std::make_shared<ReplayFlags>();
  CLI::App& app = commands.Add("replay", "Makes the calls of a trace once more, under other settings, and measures the heap.",
                               [flags] { return RunReplay(*flags); });
  app.add_option("TRACE", flags->trace, "The trace")->required();
  AddReplayOptions(app, &flags->replay);
  app.add_option("--until", flags->until, "Stop after this event")->type_name("EVENT")->group("Replay");
  AddChoice(app, "--format", &flags->format, {"text", "json", "markdown"}, "How to report");
  app.footer(
      "Sizes take K, M and G, powers of 1024. Setting any of mmap_threshold, trim_threshold, top_pad and\n"
      "mmap_max, even to its default, also stops glibc from raising its mmap threshold as the program frees\n"
      "mmapped blocks: a change may come from the value or from that. Two replays under the same settings\n"
      "print the same digest, the hash of every address that was handed out. Ctrl-C ends a replay early: what\n"
      "is then reported is that of the events done so far, and the exit status is 1.");
}

}  // namespace heaptape
