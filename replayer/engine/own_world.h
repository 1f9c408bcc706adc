// What an allocator may ask of the world besides memory, answered alike each time.
//
// Island. glibc's malloc decides by its calls alone. Others also look at the clock
// (when to give pages back), at the processor they run on and at random numbers
// (where to ask for memory), and their heaps then differ from run to run. The
// engine exports the functions by which they ask, as it does malloc
// (own_allocator.h): the clock stands at the number of events done, a microsecond
// each; the processor is 0; random numbers are a fixed sequence.
//
// libc's own use of these functions does not come here.

#ifndef HEAPTAPE_REPLAYER_ENGINE_OWN_WORLD_H_
#define HEAPTAPE_REPLAYER_ENGINE_OWN_WORLD_H_

#include <stdint.h>

namespace heaptape {

// Moves the clock on.
void PassTime(uint64_t us);

// Where the clock reads the number of the current event.
void SetClock(const uint64_t* event);

}  // namespace heaptape

#endif  // HEAPTAPE_REPLAYER_ENGINE_OWN_WORLD_H_
