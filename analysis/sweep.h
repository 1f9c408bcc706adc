// Sweep: one trace replayed under many settings.
//
// Mainland. The plan is compiled once; each row is an engine process of its own, so
// an allocator that crashes or hangs costs its row and no more. Memory is bounded by
// the number of rows that run at once.

#ifndef HEAPTAPE_ANALYSIS_SWEEP_H_
#define HEAPTAPE_ANALYSIS_SWEEP_H_

#include <chrono>
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "analysis/sweep_point.h"
#include "analysis/verdict.h"
#include "replayer/driver/replay_result.h"
#include "replayer/driver/replay_settings.h"
#include "replayer/driver/replayer.h"

namespace heaptape {

// What a replay under a point came to. Bytes; peaks are each their own maximum.
struct SweepRow {
  SweepPoint point;
  std::string failure;  // why there are no figures; empty: there are

  struct Bytes {
    uint64_t requested = 0, usable = 0, system = 0, resident = 0;
    bool operator==(const Bytes&) const = default;
  };
  Bytes peak, end;
  uint64_t peak_event = 0;       // after which system bytes were greatest
  uint64_t trimmable_bytes = 0;  // at the end
  // Before time passed, where that was asked for.
  uint64_t unsettled_system_bytes = 0, unsettled_resident_bytes = 0;
  SyscallCounts syscalls = {};
  uint64_t minor_faults = 0;
  uint64_t peak_mappings = 0;
  uint64_t digest = 0;
  double replay_seconds = 0;
  double allocator_seconds = 0;

  bool ok() const { return failure.empty(); }
};

struct Sweep {
  std::vector<SweepRow> rows;  // as recorded first, then in the order of the points
  VerdictFacts facts;          // of the first row; with the probes that are among the rows
  ReplayResult recorded;       // the replay of that row
  HolesReport holes;           // and what its heap ended as
  bool stopped = false;        // by the progress callback; rows that were not done have failed
};

// Whether blocks were written to, so that resident bytes mean something.
inline bool IsTouched(const Sweep& sweep) { return sweep.recorded.settings.touch == Touch::kPages; }

struct SweepOptions {
  // How all rows are replayed; tunables, allocator and trim_at_end are those of the rows,
  // and time passes at the end for other allocators than glibc's.
  ReplaySettings settings;
  unsigned jobs = 2;
  // A row that does not get on for so long has failed.
  std::chrono::seconds patience{60};
  // Rows that are known already, by an earlier sweep that was ended.
  std::vector<SweepRow> known;
};

// Told of each row that was replayed, as it is done; from any thread, one at a time.
using SweepSink = std::function<void(const SweepRow&)>;

// Rows for the recorded settings, FreezeProbe() and `points`, each once. An error
// means that not even the recorded settings can be replayed. `progress` is that of all
// rows; it too may be called from any thread, one at a time.
absl::StatusOr<Sweep> RunSweep(Replayer* replayer, const std::vector<SweepPoint>& points, const SweepOptions& options,
                               const SweepSink& sink = nullptr, const ReplayProgress& progress = nullptr);

}  // namespace heaptape

#endif  // HEAPTAPE_ANALYSIS_SWEEP_H_
