// Settling: time passes, and the program has little to do.
//
// Island; the replaying thread, on its own FS base. Allocators that give pages back
// after a while do so when they are called and the clock has moved on. A replay is
// over in a moment, so it shows them at their greatest. Here the clock goes in steps,
// and in each step every thread that lives makes and frees a few blocks.

#ifndef HEAPTAPE_REPLAYER_ENGINE_SETTLING_H_
#define HEAPTAPE_REPLAYER_ENGINE_SETTLING_H_

#include "replayer/engine/engine.h"

namespace heaptape {

// Lets `milliseconds` pass. False if lanes are real threads, whose calls cannot be
// made for them.
bool Settle(Engine* engine, uint64_t milliseconds);

}  // namespace heaptape

#endif  // HEAPTAPE_REPLAYER_ENGINE_SETTLING_H_
