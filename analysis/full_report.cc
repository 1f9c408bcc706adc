#include "analysis/full_report.h"

#include <algorithm>
#include <memory>
#include <utility>

#include "analysis/python_note.h"
#include "analysis/trim_effect.h"
#include "proto/trace_reader.h"
#include "replayer/driver/replayer.h"

namespace heaptape {
namespace {

constexpr size_t kHolesShown = 20;
constexpr size_t kCellsDrawn = 2400;

absl::StatusOr<HeapPicture> PictureOf(const ReplayResult& result) {
  absl::StatusOr<ReplayHeap> heap = MapReplay(result);
  if (!heap.ok()) return heap.status();
  HeapPicture picture;
  picture.at_event = result.events_done;
  picture.cells = DivideHeap(heap->map, heap->blocks, heap->regions, kCellsDrawn);
  picture.heap = *std::move(heap);
  return picture;
}

}  // namespace

absl::Status ReadTrace(const std::string& trace, uint64_t until_event, Lifetimes* lifetimes,
                       std::vector<RecordedMemory>* recorded) {
  const absl::StatusOr<std::unique_ptr<TraceReader>> reader = TraceReader::Open(trace);
  if (!reader.ok()) return reader.status();
  std::vector<Event> events;
  for (;;) {
    const absl::StatusOr<bool> more = (*reader)->Next(&events);
    if (!more.ok()) return more.status();
    if (!*more) break;
    const uint64_t first = (*reader)->first_event();
    if (until_event != 0 && first > until_event) break;
    if (until_event != 0 && first + events.size() > until_event + 1) events.resize(until_event + 1 - first);
    if (lifetimes != nullptr) lifetimes->Add(first, events);
  }
  if (recorded == nullptr) return absl::OkStatus();
  for (const MemorySample& sample : (*reader)->memory_samples()) {
    if (until_event == 0 || sample.event() <= until_event) recorded->push_back({sample.event(), sample.resident_bytes()});
  }
  std::stable_sort(recorded->begin(), recorded->end(),
                   [](const RecordedMemory& a, const RecordedMemory& b) { return a.event < b.event; });
  return absl::OkStatus();
}

absl::StatusOr<FullReport> MakeFullReport(const std::string& trace, const PlanOptions& plan,
                                          const ReplaySettings& settings, const ReportStage& stage) {
  const auto say = [&stage](const char* what) {
    if (stage != nullptr) stage(what);
  };
  FullReport report;
  report.trace = trace;
  say("replaying");
  const EventSourceFactory events = TraceFile(trace);
  const absl::StatusOr<std::unique_ptr<Replayer>> replayer = Replayer::Create(events, plan);
  if (!replayer.ok()) return replayer.status();
  absl::StatusOr<ReplayResult> result = (*replayer)->Run(settings);
  if (!result.ok()) return result.status();
  report.result = *std::move(result);
  if (std::string note = PythonNote(report.result.header); !note.empty()) {
    report.result.settings.notes.push_back(std::move(note));
  }
  absl::StatusOr<HolesReport> holes = FindHoles(report.result, kHolesShown);
  if (!holes.ok()) return holes.status();
  report.holes = *std::move(holes);
  absl::StatusOr<HeapPicture> end = PictureOf(report.result);
  if (!end.ok()) return end.status();
  report.end = *std::move(end);

  say("trying other settings");
  absl::StatusOr<Verdict> verdict =
      FindVerdict(report.result, report.holes, settings,
                  [&](const ReplaySettings& changed) { return (*replayer)->Run(changed); });
  if (!verdict.ok()) return verdict.status();
  report.verdict = *std::move(verdict);

  ReplaySettings once = settings;
  once.check = false;
  once.trim_at_end = false;
  once.settle_ms = 0;
  if (report.result.settings.is_glibc && !settings.trim_at_end) {
    say("trimming");
    const absl::StatusOr<TrimEffect> trim = MeasureTrim(replayer->get(), once);
    if (!trim.ok()) return trim.status();
    report.holes.trim = *trim;
  }
  const auto replay = [&](const PlanOptions& options) { return Replay(trace, options, once); };
  const uint64_t peak_event = report.result.peak_system.event;
  if (report.result.settings.syscalls_seen) {
    if (peak_event != 0 && report.result.peak_system.bytes > report.result.system_bytes) {
      say("looking at the peak");
      PlanOptions until_peak = plan;
      until_peak.until_event = peak_event;
      const absl::StatusOr<ReplayResult> at_peak = replay(until_peak);
      if (!at_peak.ok()) return at_peak.status();
      absl::StatusOr<HeapPicture> peak = PictureOf(*at_peak);
      if (!peak.ok()) return peak.status();
      report.peak = *std::move(peak);
    }
    say("looking for steps");
    absl::StatusOr<GrowthReport> growth = FindGrowth(events, replay, plan, GrowthOptions());
    if (!growth.ok()) return growth.status();
    report.growth = *std::move(growth);
  }

  say("reading the trace");
  Lifetimes lifetimes(peak_event != 0 ? peak_event : report.result.peak_requested.event);
  report.timeline.points = report.result.timeline;
  absl::Status read = ReadTrace(trace, plan.until_event, &lifetimes, &report.timeline.recorded);
  if (!read.ok()) return read;
  report.lifetimes = lifetimes.Finish(report.result);
  return report;
}

}  // namespace heaptape
