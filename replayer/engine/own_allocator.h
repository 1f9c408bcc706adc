// The malloc family that the engine's own process gets: a small arena.
//
// Island. The engine executable defines and exports malloc, calloc, realloc, free
// and their kin, and an executable's definitions win over every library's. So
// whatever ld.so or libc allocate for the engine itself (a new thread's dtv,
// dlerror's text, a preloaded library's constructors) comes from this arena, and
// the heap under test holds the blocks of the trace and nothing else. The
// allocator under test is reached by the addresses in allocator.h alone.
//
// Thread-safe (one spin lock; nobody competes for it), reuses freed blocks by
// powers of two, needs no start-up.

#ifndef HEAPTAPE_REPLAYER_ENGINE_OWN_ALLOCATOR_H_
#define HEAPTAPE_REPLAYER_ENGINE_OWN_ALLOCATOR_H_

#include <stdint.h>

namespace heaptape {

// Blocks that the arena has handed out so far.
uint64_t OwnAllocations();

}  // namespace heaptape

#endif  // HEAPTAPE_REPLAYER_ENGINE_OWN_ALLOCATOR_H_
