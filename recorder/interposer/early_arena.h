// Blocks for calls that come before the dynamic linker has relocated us.
//
// Island. An IFUNC resolver of another library may call malloc before anything
// outside this object can be reached. It gets a piece of a static arena, which
// is never given back and never recorded: it is not in the heap we record.

#ifndef HEAPTAPE_RECORDER_INTERPOSER_EARLY_ARENA_H_
#define HEAPTAPE_RECORDER_INTERPOSER_EARLY_ARENA_H_

#include <stddef.h>
#include <stdint.h>

namespace heaptape {

inline constexpr size_t kEarlyArenaBytes = 64 << 10;
alignas(64) extern char early_arena[kEarlyArenaBytes];

inline bool IsEarly(const void* block) {
  return reinterpret_cast<uintptr_t>(block) - reinterpret_cast<uintptr_t>(early_arena) < kEarlyArenaBytes;
}

// Zeroed, aligned to at least 16; null when the arena is used up.
void* EarlyAllocate(size_t size, size_t alignment = 16);
// As realloc would, for an early block; the result is early too.
void* EarlyReallocate(void* block, size_t size);
size_t EarlyUsableSize(const void* block);

}  // namespace heaptape

#endif  // HEAPTAPE_RECORDER_INTERPOSER_EARLY_ARENA_H_
