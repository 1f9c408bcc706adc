#include "tools/sweep_command.h"

#include <gnu/libc-version.h>
#include <sys/stat.h>

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <memory>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "analysis/json_text.h"
#include "analysis/sweep.h"
#include "analysis/sweep_journal.h"
#include "analysis/sweep_json.h"
#include "analysis/sweep_report.h"
#include "analysis/sweep_text.h"
#include "analysis/trace_summary.h"
#include "proto/trace_reader.h"
#include "proto/version.h"
#include "replayer/driver/engine_environment.h"
#include "replayer/driver/replayer.h"
#include "replayer/driver/tunables.h"
#include "tools/progress_line.h"
#include "tools/replay_options.h"
#include "tools/standard_output.h"
#include "tools/sweep_grid.h"

namespace heaptape {
namespace {

struct SweepFlags {
  std::string trace;
  std::vector<std::string> grid;
  unsigned jobs = std::max(std::thread::hardware_concurrency(), 1u);
  uint32_t patience_seconds = 60;
  std::string until;
  ReplayOptions replay;
  std::string format = "text";
};

// What the point says that its allocator heeds: glibc's settings are nothing to others.
SweepPoint Heeded(SweepPoint point) {
  if (point.allocator != "glibc") {
    point.tunables.clear();
    point.trim_at_end = false;
  }
  return point;
}

// A UsageError for a tunable or an allocator that there is not.
absl::StatusOr<std::vector<SweepPoint>> PointsOf(const SweepFlags& flags) {
  const absl::StatusOr<Tunables> known = Tunables::Load(flags.replay.glibc_directory);
  if (!known.ok()) return known.status();
  std::vector<SweepPoint> points;
  if (flags.grid.empty()) {
    for (SweepPoint& point : DefaultGrid(InstalledAllocators())) {
      // An older glibc lacks some.
      if (std::all_of(point.tunables.begin(), point.tunables.end(),
                      [&known](const auto& tunable) { return known->ranges().count(tunable.first) > 0; })) {
        points.push_back(std::move(point));
      }
    }
    return points;
  }
  for (const std::string& spec : flags.grid) {
    const absl::StatusOr<std::vector<SweepPoint>> parsed = ParseGrid(spec);
    if (!parsed.ok()) return UsageError(absl::StrCat("--grid: ", parsed.status().message()));
    for (const SweepPoint& point : *parsed) points.push_back(Heeded(point));
  }
  for (SweepPoint& point : points) {
    if (const absl::StatusOr<std::string> path = AllocatorPath(point.allocator); !path.ok()) {
      return UsageError(absl::StrCat("--grid: ", path.status().message()));
    }
    for (auto& [name, value] : point.tunables) {
      absl::StatusOr<std::string> checked = known->Check(name, value);
      if (!checked.ok()) return UsageError(absl::StrCat("--grid: ", checked.status().message()));
      value = *std::move(checked);
    }
  }
  return points;
}

// What the rows of a journal depend on, besides their points.
absl::StatusOr<nlohmann::ordered_json> JournalKey(const SweepFlags& flags) {
  struct stat file;
  if (stat(flags.trace.c_str(), &file) != 0) return absl::NotFoundError(absl::StrCat(flags.trace, ": no such file"));
  return nlohmann::ordered_json{
      {"heaptape", kHeaptapeVersion},
      {"trace_bytes", file.st_size},
      {"trace_time", {file.st_mtim.tv_sec, file.st_mtim.tv_nsec}},
      {"glibc", flags.replay.glibc_directory.empty() ? gnu_get_libc_version() : flags.replay.glibc_directory.c_str()},
      {"until", flags.until},
      {"touch", flags.replay.touch},
      {"settle", flags.replay.settle_seconds},
      {"ignore_mallopt", flags.replay.ignore_mallopt},
  };
}

absl::StatusOr<SweepReport> Reported(const std::string& trace, Sweep sweep) {
  absl::StatusOr<std::unique_ptr<TraceReader>> reader = TraceReader::Open(trace);
  if (!reader.ok()) return reader.status();
  const absl::StatusOr<TraceSummary> summary = Summarize(trace, reader->get());
  if (!summary.ok()) return summary.status();
  return MakeSweepReport(trace, std::move(sweep), summary->duration_ns);
}

absl::StatusOr<int> RunSweepCommand(const SweepFlags& flags) {
  const absl::StatusOr<std::vector<SweepPoint>> points = PointsOf(flags);
  if (!points.ok()) return points.status();
  const absl::StatusOr<PlanOptions> plan = PlanOf(flags.replay, flags.until);
  if (!plan.ok()) return plan.status();
  absl::StatusOr<ReplaySettings> settings = SettingsOf(flags.replay);
  if (!settings.ok()) return settings.status();
  const absl::StatusOr<std::unique_ptr<Replayer>> replayer = Replayer::Create(TraceFile(flags.trace), *plan);
  if (!replayer.ok()) return replayer.status();

  const absl::StatusOr<nlohmann::ordered_json> key = JournalKey(flags);
  if (!key.ok()) return key.status();
  absl::StatusOr<std::unique_ptr<SweepJournal>> journal = SweepJournal::Open(flags.trace + ".sweep", *key);
  if (!journal.ok()) {
    std::fprintf(stderr, "heaptape: warning: %s: if this sweep is ended, the next begins anew\n",
                 std::string(journal.status().message()).c_str());
  }

  SweepOptions options;
  options.settings = *settings;
  options.jobs = flags.jobs;
  options.patience = std::chrono::seconds(flags.patience_seconds);
  if (journal.ok()) options.known = (*journal)->known();
  const InterruptFlag interrupt;
  ProgressLine line("sweeping");
  absl::StatusOr<Sweep> sweep = RunSweep(
      replayer->get(), *points, options,
      [&journal](const SweepRow& row) {
        if (journal.ok()) (*journal)->Add(row);
      },
      [&](const ReplayPosition& position) {
        line.Show(position.fraction, position.events);
        return !interrupt.raised();
      });
  line.Clear();
  if (!sweep.ok()) return sweep.status();
  if (journal.ok() && !sweep->stopped) (*journal)->Remove();

  absl::StatusOr<SweepReport> report = Reported(flags.trace, *std::move(sweep));
  if (!report.ok()) return report.status();
  const std::string text = flags.format == "json"       ? JsonText(SweepJson(*report))
                           : flags.format == "csv"      ? SweepCsv(*report)
                           : flags.format == "markdown" ? SweepMarkdown(*report)
                                                        : SweepText(*report);
  if (absl::Status status = WriteStandardOutput(text); !status.ok()) return status;
  return report->sweep.stopped ? kExitFailed : kExitOk;
}

}  // namespace

void AddSweepCommand(CommandSet& commands) {
  auto flags = std::make_shared<SweepFlags>();
  flags->replay.touch = "pages";
  flags->replay.settle_seconds = 15;
  CLI::App& app = commands.Add("sweep", "Replays a trace under many settings and allocators, ranks them, and recommends one.",
                               [flags] { return RunSweepCommand(*flags); });
  app.add_option("TRACE", flags->trace, "The trace")->required();
  app.add_option("--grid", flags->grid, "Settings to try, every combination; may be given several times (default: see below)")
      ->type_name("'NAME=VALUES ...'");
  app.add_option("--jobs", flags->jobs, "How many replays at once (default: a processor each)")
      ->type_name("N")
      ->check(CLI::Range(1u, 1024u).description(""));
  app.add_option("--patience", flags->patience_seconds, "Give a row up when it has not got on for so long")
      ->type_name("SECONDS")
      ->check(CLI::Range(1u, 86400u).description(""))
      ->capture_default_str();
  app.add_option("--until", flags->until, "Stop after this event")->type_name("EVENT")->group("Replay");
  AddChoice(app, "--format", &flags->format, {"text", "markdown", "json", "csv"}, "How to report");
  AddRunOptions(app, &flags->replay);
  app.footer(
      "A grid is NAME=VALUES, several of them apart by spaces. VALUES are numbers, ranges and \"default\", apart by\n"
      "commas: 'mmap_threshold=32K..4M*2 arena_max=1,2,default'. NAME is a setting of glibc's malloc, \"allocator\"\n"
      "(glibc, jemalloc, tcmalloc, mimalloc, a path) or \"trim\" (no, end: malloc_trim(0) at the end).\n"
      "The recorded settings and trim_threshold=128K are always tried: the latter is its own default and only\n"
      "stops the mmap threshold from moving, which tells what a value does from what setting it does.\n"
      "Other allocators give memory back by the clock: they are given the time of --settle at the end, of which a\n"
      "replay takes little, and what they held before is remarked.\n"
      "A sweep that is ended leaves TRACE.sweep, and the same command goes on from there.");
}

}  // namespace heaptape
