#include "tools/holes_command.h"

#include <unistd.h>

#include <cstdint>
#include <memory>
#include <string>

#include "absl/strings/str_cat.h"
#include "analysis/heap_profile.h"
#include "analysis/holes_json.h"
#include "analysis/holes_text.h"
#include "analysis/json_text.h"
#include "analysis/replay_heap.h"
#include "analysis/replay_text.h"
#include "analysis/report_document.h"
#include "analysis/report_markdown.h"
#include "analysis/trim_effect.h"
#include "replayer/driver/event_source.h"
#include "replayer/driver/replay_result.h"
#include "replayer/driver/replayer.h"
#include "tools/replay_options.h"
#include "tools/standard_output.h"

namespace heaptape {
namespace {

struct HolesFlags {
  std::string trace;
  ReplayOptions replay;
  std::string at = "end";
  uint64_t top = 10;
  bool no_trim = false;
  std::string format = "text";
};

// The event after which the allocator first held most.
absl::StatusOr<uint64_t> PeakEvent(const std::string& trace, const PlanOptions& plan, const ReplaySettings& settings) {
  const absl::StatusOr<ReplayResult> result = ReplayTrace(trace, plan, settings, "looking for the peak");
  if (!result.ok()) return result.status();
  if (!result->settings.syscalls_seen) {
    return absl::UnimplementedError(
        "--at=peak: this kernel does not show the allocator's system calls, so when the peak was is not known");
  }
  return result->peak_system.event;
}

absl::StatusOr<std::string> Rendered(const HolesFlags& flags, const ReplayResult& result, const HolesReport& holes) {
  if (flags.format == "json") return JsonText(HolesJson(holes));
  if (flags.format == "markdown") {
    return absl::StrCat("```\n", ReplayHeadText(flags.trace, result), "```\n",
                        SectionMarkdown(DescribeHeap(holes), flags.top), SectionMarkdown(DescribeHoles(holes), flags.top + 1));
  }
  if (flags.format == "pprof") {
    const absl::StatusOr<ReplayHeap> heap = MapReplay(result);
    if (!heap.ok()) return heap.status();
    return HeapProfile(*heap, absl::StrCat("heaptape: ", flags.trace, ", after event ", holes.at_event, ", digest ", holes.digest));
  }
  return absl::StrCat(ReplayHeadText(flags.trace, result), "\n", HolesText(holes));
}

absl::StatusOr<int> RunHoles(const HolesFlags& flags) {
  const absl::StatusOr<ReplaySettings> settings = SettingsOf(flags.replay);
  if (!settings.ok()) return settings.status();
  if (flags.format == "pprof" && isatty(STDOUT_FILENO) != 0) {
    return UsageError("--format=pprof: a profile is not for a terminal; write it to a file, > heap.pb.gz");
  }
  absl::StatusOr<PlanOptions> plan = PlanOf(flags.replay);
  if (!plan.ok()) return plan.status();
  if (flags.at != "end") {
    const absl::StatusOr<uint64_t> event = flags.at == "peak" ? PeakEvent(flags.trace, *plan, *settings)
                                                              : ParseEventNumber("--at", flags.at);
    if (!event.ok()) return event.status();
    plan->until_event = *event;
  }

  const absl::StatusOr<ReplayResult> result = ReplayTrace(flags.trace, *plan, *settings, "replaying");
  if (!result.ok()) return result.status();
  absl::StatusOr<HolesReport> holes = FindHoles(*result, flags.top);
  if (!holes.ok()) return holes.status();
  if (!flags.no_trim && flags.format != "pprof" && result->settings.is_glibc && !settings->trim_at_end) {
    const absl::StatusOr<std::unique_ptr<Replayer>> replayer = Replayer::Create(TraceFile(flags.trace), *plan);
    if (!replayer.ok()) return replayer.status();
    const absl::StatusOr<TrimEffect> trim = MeasureTrim(replayer->get(), *settings);
    if (!trim.ok()) return trim.status();
    holes->trim = *trim;
  }
  absl::StatusOr<std::string> report = Rendered(flags, *result, *holes);
  if (!report.ok()) return report.status();
  if (absl::Status status = WriteStandardOutput(*report); !status.ok()) return status;
  return kExitOk;
}

}  // namespace

void AddHolesCommand(CommandSet& commands) {
  auto flags = std::make_shared<HolesFlags>();
  CLI::App& app = commands.Add("holes", "Shows the free memory that the heap of a replay cannot give back, and the blocks "
                                        "that pin it.",
                               [flags] { return RunHoles(*flags); });
  app.add_option("TRACE", flags->trace, "The trace")->required();
  app.add_option("--at", flags->at, "When to look: after the last event, when the allocator held most, or after an event")
      ->type_name("end|peak|EVENT")
      ->capture_default_str();
  app.add_option("--top", flags->top, "How many of the largest holes to show")->type_name("N")->capture_default_str();
  app.add_flag("--no-trim", flags->no_trim, "Do not measure what malloc_trim(0) gives back, which takes two replays more");
  AddChoice(app, "--format", &flags->format, {"text", "json", "markdown", "pprof"},
            "How to report; pprof: a gzipped profile of live bytes and of holes by what pins them");
  AddReplayOptions(app, &flags->replay);
  app.footer(
      "A hole is memory between live blocks, large enough to hold another; the block that ends it pins it.\n"
      "Trimmable are the whole pages inside holes: in glibc, what malloc_trim(0) could return. What it does\n"
      "return is measured by calling it at the end of another replay.");
}

}  // namespace heaptape
