// GrowthReport: each step up of system bytes, and why no hole could serve it.
//
// Mainland. A deterministic replay can be asked twice: the first finds the steps, the
// second stops just before one and shows the heap that had no room, a third stops
// where the block was placed that ends the nearest hole. Memory grows with live
// blocks, not with events.

#ifndef HEAPTAPE_ANALYSIS_GROWTH_H_
#define HEAPTAPE_ANALYSIS_GROWTH_H_

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "analysis/hole_story.h"
#include "analysis/holes.h"
#include "analysis/room.h"
#include "proto/event.h"
#include "replayer/driver/event_source.h"
#include "replayer/driver/growth_log.h"
#include "replayer/driver/replay_result.h"
#include "replayer/plan/plan_compiler.h"

namespace heaptape {

struct GrowthCall {
  GrowthStep step;
  Event call;  // that made system bytes rise; of the first, where steps were joined
};

// A free place that was too short, or would have done.
struct RoomDetail {
  Room room;
  uint32_t origin = 0;  // of its region
  uint64_t offset = 0;  // in it
  Neighbour before;
  Neighbour pinned_by;
};

// One step, looked into.
struct GrowthReason {
  GrowthCall growth;
  uint64_t system_bytes = 0;  // before it
  uint64_t usable_bytes = 0;
  uint64_t wanted_bytes = 0;  // what the allocator looks for: see BytesLookedFor
  RoomReport rooms;
  std::vector<RoomDetail> nearest;  // of `rooms`
  std::optional<HoleStory> story;   // of the first of them, if it is too short and a block pins it
};

struct GrowthReport {
  std::string digest;
  uint64_t at_event = 0;
  uint64_t system_bytes = 0;  // at the end == up_bytes - down_bytes
  uint64_t step_count = 0;
  uint64_t up_bytes = 0;
  uint64_t down_bytes = 0;
  std::vector<GrowthCall> largest;    // steps: by bytes, descending; then by event
  std::vector<GrowthReason> reasons;  // of the largest at which a heap grew
};

struct GrowthOptions {
  size_t steps = 10;     // to list
  size_t explained = 3;  // to look into
  size_t rooms = 5;      // to list of each
};

// Replays the trace under a plan, and settings that stay the same.
using ReplayFunction = std::function<absl::StatusOr<ReplayResult>(const PlanOptions& plan)>;

// `plan` says where the trace is to end. `first`, if not null, is set to the result
// of the replay that found the steps. Unimplemented where the kernel does not show system calls;
// errors of the replay and of reading the trace.
absl::StatusOr<GrowthReport> FindGrowth(const EventSourceFactory& trace, const ReplayFunction& replay,
                                        const PlanOptions& plan, const GrowthOptions& options,
                                        ReplayResult* first = nullptr);

}  // namespace heaptape

#endif  // HEAPTAPE_ANALYSIS_GROWTH_H_
