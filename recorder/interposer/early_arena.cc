#include "recorder/interposer/early_arena.h"

namespace heaptape {

alignas(64) char early_arena[kEarlyArenaBytes];

namespace {

size_t used;  // changed atomically: who knows how many threads a resolver starts

size_t* SizeOf(const void* block) { return reinterpret_cast<size_t*>(reinterpret_cast<uintptr_t>(block)) - 1; }

}  // namespace

void* EarlyAllocate(size_t size, size_t alignment) {
  if (alignment < 16) alignment = 16;
  if (size > kEarlyArenaBytes || alignment > kEarlyArenaBytes) return nullptr;
  const size_t bytes = size + alignment + 16;
  const size_t begin = __atomic_fetch_add(&used, bytes, __ATOMIC_RELAXED);
  if (begin + bytes > kEarlyArenaBytes) return nullptr;
  const uintptr_t first = reinterpret_cast<uintptr_t>(early_arena) + begin + 16;
  void* const block = reinterpret_cast<void*>((first + alignment - 1) & ~(alignment - 1));
  *SizeOf(block) = size;
  return block;
}

void* EarlyReallocate(void* block, size_t size) {
  char* const moved = static_cast<char*>(EarlyAllocate(size));
  if (moved == nullptr) return nullptr;
  const size_t keep = size < *SizeOf(block) ? size : *SizeOf(block);
  for (size_t i = 0; i < keep; ++i) moved[i] = static_cast<char*>(block)[i];
  return moved;
}

size_t EarlyUsableSize(const void* block) { return *SizeOf(block); }

}  // namespace heaptape
