// Replayer: re-runs one trace, as often as wanted, under any settings.
//
// Mainland. The first replay compiles the trace while the engine is already at
// work on what has been compiled, and keeps the plan if it fits into memory; the
// next only start an engine on it. Run may be called from several threads at
// once, each call with an engine of its own; while the plan is being compiled
// for the first time, others wait.

#ifndef HEAPTAPE_REPLAYER_DRIVER_REPLAYER_H_
#define HEAPTAPE_REPLAYER_DRIVER_REPLAYER_H_

#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <string>

#include "absl/status/statusor.h"
#include "replayer/driver/event_source.h"
#include "replayer/driver/memory_call_reader.h"
#include "replayer/driver/replay_result.h"
#include "replayer/driver/replay_settings.h"
#include "replayer/driver/result_reader.h"
#include "replayer/plan/plan_compiler.h"

namespace heaptape {

// How far a replay is. Neither ever goes back.
struct ReplayPosition {
  double fraction = 0;  // from 0 to 1
  uint64_t events = 0;  // about

  operator double() const { return fraction; }
};

// Told about ten times a second. False ends the replay: the result is then that of
// the events done so far, with `stopped` set.
using ReplayProgress = std::function<bool(const ReplayPosition&)>;

class Replayer {
 public:
  // Bytes of plan that are kept: 8 an event, about.
  static constexpr uint64_t kDefaultPlanBudget = uint64_t{1} << 29;

  // Opens the events once, to read their header. `plan_budget_bytes` is rounded
  // up to a power of two.
  static absl::StatusOr<std::unique_ptr<Replayer>> Create(
      EventSourceFactory events, const PlanOptions& options = {},
      uint64_t plan_budget_bytes = kDefaultPlanBudget);

  ~Replayer();
  Replayer(const Replayer&) = delete;
  Replayer& operator=(const Replayer&) = delete;

  // Errors: InvalidArgument or NotFound for wrong settings, FailedPrecondition for
  // those that glibc does not heed, Internal if the
  // allocator crashed or the engine failed, DeadlineExceeded if it was to be stopped
  // and is in a call of the allocator that does not come back, Aborted if settings.check is set and
  // two replays differ, ResourceExhausted if there are too many live blocks, those
  // of the event source. `memory_calls`, if set, is told of every memory system
  // call of the allocator, on this thread, while the replay runs.
  absl::StatusOr<ReplayResult> Run(const ReplaySettings& settings,
                                   const ReplayProgress& progress = nullptr,
                                   const MemoryCallSink& memory_calls = nullptr);

  const Header& header() const { return header_; }

 private:
  struct Plan;
  class Session;

  Replayer(EventSourceFactory events, const PlanOptions& options, uint64_t plan_budget_bytes,
           uint64_t expected_events, Header header);

  // What compiling the first `events` leaves behind.
  absl::StatusOr<PlanOutcome> CompileUntil(uint64_t events) const;

  absl::StatusOr<ReplayResult> RunOnce(const ReplaySettings& settings,
                                       const ReplayProgress& progress,
                                       const MemoryCallSink& memory_calls);

  const EventSourceFactory events_;
  const PlanOptions options_;
  const uint64_t plan_budget_bytes_;
  const uint64_t expected_events_;  // to be replayed; 0: it is not known
  const Header header_;

  std::mutex mutex_;            // held while the plan is compiled to be kept
  std::unique_ptr<Plan> plan_;  // never changes once set
  bool plan_is_too_large_ = false;
};

// Whether a replay under `settings` can be asked for placements: the trace has
// addresses that glibc gave, and nothing is set otherwise than it was recorded.
bool CanComparePlacement(const Header& header, const ReplaySettings& settings);

// Replays the trace at `path` once (or twice, with settings.check).
absl::StatusOr<ReplayResult> Replay(const std::string& path, const PlanOptions& options,
                                    const ReplaySettings& settings,
                                    const ReplayProgress& progress = nullptr);

}  // namespace heaptape

#endif  // HEAPTAPE_REPLAYER_DRIVER_REPLAYER_H_
