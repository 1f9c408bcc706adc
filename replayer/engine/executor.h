// Executor: the loop that carries out the plan.
//
// Island. Called by whichever thread's turn it is, on any FS base; calls the
// allocator and, for all else, raw system calls only.
//
// It believes that a plan is well-formed (plan_checker.h) as far as a mistake
// would only give a wrong heap, and checks what would make it write outside its
// own tables.

#ifndef HEAPTAPE_REPLAYER_ENGINE_EXECUTOR_H_
#define HEAPTAPE_REPLAYER_ENGINE_EXECUTOR_H_

#include "replayer/engine/engine.h"

namespace heaptape {

enum class Outcome {
  kEnd,      // the plan ended
  kStopped,  // told to stop
  kFailed,   // engine->failure says why
  kLane,     // engine->lane, which exists, is to go on (token mode only)
  kLaneEnd,  // engine->lane ends
};

Outcome Execute(Engine* engine);

}  // namespace heaptape

#endif  // HEAPTAPE_REPLAYER_ENGINE_EXECUTOR_H_
