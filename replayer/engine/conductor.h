// Conductor: decides which thread carries out the plan, until it ends.
//
// Island. By FS base, the first thread does everything and lanes only lend their
// storage and end. In token mode each lane's own thread executes while the plan
// is in that lane, and gives the turn to the next; the first thread is lane 0,
// and also waits for threads that end.

#ifndef HEAPTAPE_REPLAYER_ENGINE_CONDUCTOR_H_
#define HEAPTAPE_REPLAYER_ENGINE_CONDUCTOR_H_

#include "replayer/engine/engine.h"
#include "replayer/engine/executor.h"

namespace heaptape {

// What every lane but the first runs: Lanes::Init's body.
void LaneBody(uint32_t lane);

// Carries out the plan, on the first thread. Returns kEnd, kStopped or kFailed,
// with the caller's own FS base in place.
Outcome Conduct(Engine* engine);

}  // namespace heaptape

#endif  // HEAPTAPE_REPLAYER_ENGINE_CONDUCTOR_H_
