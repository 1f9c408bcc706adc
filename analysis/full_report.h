// FullReport: everything about one trace under one setting, for a ticket.
//
// Mainland. Replays a dozen times: the trace, its probes, up to the peak and up to
// steps of growth; and reads the trace twice.

#ifndef HEAPTAPE_ANALYSIS_FULL_REPORT_H_
#define HEAPTAPE_ANALYSIS_FULL_REPORT_H_

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "analysis/growth.h"
#include "analysis/heap_cells.h"
#include "analysis/holes.h"
#include "analysis/lifetimes.h"
#include "analysis/replay_heap.h"
#include "analysis/timeline.h"
#include "analysis/verdict.h"
#include "replayer/driver/replay_result.h"
#include "replayer/driver/replay_settings.h"
#include "replayer/plan/plan_compiler.h"

namespace heaptape {

// A heap to draw.
struct HeapPicture {
  uint64_t at_event = 0;
  ReplayHeap heap;
  HeapCells cells;
};

struct FullReport {
  std::string trace;    // path, as asked for
  std::string command;  // that makes this report again
  ReplayResult result;
  HolesReport holes;  // at the end
  HeapPicture end;
  std::optional<HeapPicture> peak;  // if the end is not the peak
  Verdict verdict;
  std::optional<GrowthReport> growth;  // where the kernel shows when the heap grew
  LifetimeReport lifetimes;
  Timeline timeline;
};

// Tells what is being done, a present participle.
using ReportStage = std::function<void(const char* what)>;

absl::StatusOr<FullReport> MakeFullReport(const std::string& trace, const PlanOptions& plan,
                                          const ReplaySettings& settings, const ReportStage& stage = nullptr);

// The recorded program's memory, and how long its blocks lived, out of one pass.
absl::Status ReadTrace(const std::string& trace, uint64_t until_event, Lifetimes* lifetimes,
                       std::vector<RecordedMemory>* recorded);

}  // namespace heaptape

#endif  // HEAPTAPE_ANALYSIS_FULL_REPORT_H_
