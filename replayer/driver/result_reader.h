// ReadResult: what an engine has left in the shared mapping, joined with what the
// plan compiler knows.
//
// Mainland. REQUIRES: the engine is gone.

#ifndef HEAPTAPE_REPLAYER_DRIVER_RESULT_READER_H_
#define HEAPTAPE_REPLAYER_DRIVER_RESULT_READER_H_

#include <cstdint>
#include <vector>

#include "proto/trace_reader.h"
#include "replayer/driver/replay_result.h"
#include "replayer/plan/plan_block.h"
#include "replayer/plan/plan_compiler.h"

namespace heaptape {

// What compiling a whole plan has left behind.
struct PlanOutcome {
  PlanTotals totals;
  PlanBlocks blocks;  // by slot
  std::vector<uint64_t> sample_requested_bytes;
  TraceHealth health;
};

// All but the header and what the driver itself decided. `outcome` is null where
// the plan was not compiled to its end, and is not used where the engine was
// stopped: blocks are then without the trace's part, but for their slot.
ReplayResult ReadResult(const char* shared_memory, const PlanOutcome* outcome);

// Joins a result that was stopped with what compiling just its events_done gives.
void JoinStopped(const PlanOutcome& outcome, ReplayResult* result);

}  // namespace heaptape

#endif  // HEAPTAPE_REPLAYER_DRIVER_RESULT_READER_H_
