#include "replayer/engine/own_allocator.h"

#include <errno.h>
#include <stddef.h>
#include <string.h>

#define HEAPTAPE_EXPORT extern "C" __attribute__((visibility("default"), used))

namespace heaptape {

namespace {

// Zeroed and not resident until used. A preloaded libstdc++ takes 72 KiB.
constexpr size_t kArenaBytes = 16 << 20;
constexpr size_t kHeaderBytes = 16;
constexpr int kMinBits = 5;
constexpr int kMaxBits = 24;

// Lies before each block.
struct BlockHeader {
  uint64_t bits;  // log2 of block and header together; 0: aligned, never reused
  uint64_t capacity_bytes;
};
static_assert(sizeof(BlockHeader) == kHeaderBytes);

struct FreeBlock {
  FreeBlock* next;
};

alignas(16) char g_arena[kArenaBytes];
size_t g_used;
uint64_t g_allocations;
FreeBlock* g_free[kMaxBits + 1];
char g_lock;

class Guard {
 public:
  Guard() {
    while (__atomic_test_and_set(&g_lock, __ATOMIC_ACQUIRE)) __builtin_ia32_pause();
  }
  ~Guard() { __atomic_clear(&g_lock, __ATOMIC_RELEASE); }
};

BlockHeader* HeaderOf(void* block) { return (BlockHeader*)((char*)block - kHeaderBytes); }

void* Carve(size_t alignment, size_t bytes) {
  const size_t at = (g_used + kHeaderBytes + alignment - 1) & ~(alignment - 1);
  if (at > kArenaBytes || bytes > kArenaBytes - at) {
    errno = ENOMEM;
    return nullptr;
  }
  g_used = at + bytes;
  ++g_allocations;
  HeaderOf(g_arena + at)->capacity_bytes = bytes;
  return g_arena + at;
}

void* Allocate(size_t bytes) {
  if (bytes > kArenaBytes) {
    errno = ENOMEM;
    return nullptr;
  }
  const Guard guard;
  int bits = kMinBits;
  while (((size_t)1 << bits) < bytes + kHeaderBytes) ++bits;
  if (g_free[bits] != nullptr) {
    FreeBlock* block = g_free[bits];
    g_free[bits] = block->next;
    ++g_allocations;
    return block;
  }
  void* block = Carve(16, ((size_t)1 << bits) - kHeaderBytes);
  if (block != nullptr) HeaderOf(block)->bits = bits;
  return block;
}

void* AllocateAligned(size_t alignment, size_t bytes) {
  if (alignment <= 16) return Allocate(bytes);
  const Guard guard;
  void* block = Carve(alignment, bytes);
  if (block != nullptr) HeaderOf(block)->bits = 0;
  return block;
}

void Free(void* block) {
  if (block == nullptr) return;
  const uint64_t bits = HeaderOf(block)->bits;
  if (bits == 0) return;
  const Guard guard;
  FreeBlock* free_block = (FreeBlock*)block;
  free_block->next = g_free[bits];
  g_free[bits] = free_block;
}

}  // namespace

uint64_t OwnAllocations() { return g_allocations; }

HEAPTAPE_EXPORT void* malloc(size_t bytes) { return Allocate(bytes); }

HEAPTAPE_EXPORT void* calloc(size_t count, size_t bytes) {
  size_t total;
  if (__builtin_mul_overflow(count, bytes, &total)) {
    errno = ENOMEM;
    return nullptr;
  }
  void* block = Allocate(total);
  if (block != nullptr) memset(block, 0, total);
  return block;
}

HEAPTAPE_EXPORT void* realloc(void* old, size_t bytes) {
  if (old == nullptr) return Allocate(bytes);
  const size_t capacity = HeaderOf(old)->capacity_bytes;
  if (bytes <= capacity) return old;
  void* block = Allocate(bytes);
  if (block == nullptr) return nullptr;
  memcpy(block, old, capacity);
  Free(old);
  return block;
}

HEAPTAPE_EXPORT void free(void* block) { Free(block); }

HEAPTAPE_EXPORT void* memalign(size_t alignment, size_t bytes) {
  return AllocateAligned(alignment, bytes);
}

HEAPTAPE_EXPORT void* aligned_alloc(size_t alignment, size_t bytes) {
  return AllocateAligned(alignment, bytes);
}

HEAPTAPE_EXPORT int posix_memalign(void** result, size_t alignment, size_t bytes) {
  void* block = AllocateAligned(alignment, bytes);
  if (block == nullptr) return ENOMEM;
  *result = block;
  return 0;
}

HEAPTAPE_EXPORT void* valloc(size_t bytes) { return AllocateAligned(4096, bytes); }

HEAPTAPE_EXPORT void* pvalloc(size_t bytes) {
  return AllocateAligned(4096, (bytes + 4095) & ~(size_t)4095);
}

HEAPTAPE_EXPORT size_t malloc_usable_size(void* block) {
  return block == nullptr ? 0 : HeaderOf(block)->capacity_bytes;
}

}  // namespace heaptape
