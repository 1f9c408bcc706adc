// toy_allocator: a preloadable allocator for replay_test. It never reuses memory,
// and puts blocks at random into one of two mappings, now and then by the clock:
// all that makes replays differ, unless the engine answers alike each time.

#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/random.h>
#include <time.h>

#define HEAPTAPE_EXPORT extern "C" __attribute__((visibility("default")))

namespace {

constexpr size_t kPoolBytes = 64 << 20;
constexpr size_t kHeaderBytes = 16;

struct Pool {
  char* next;
  char* end;
};
Pool g_pools[2];

void* Allocate(size_t alignment, size_t bytes) {
  unsigned char random = 0;
  if (getrandom(&random, 1, 0) != 1) return nullptr;
  timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  Pool& pool = g_pools[(random ^ now.tv_nsec / 1000) & 1];
  if (pool.next == nullptr) {
    void* memory =
        mmap(nullptr, kPoolBytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (memory == MAP_FAILED) return nullptr;
    pool.next = static_cast<char*>(memory);
    pool.end = pool.next + kPoolBytes;
  }
  const uintptr_t mask = (alignment < 16 ? 16 : alignment) - 1;
  char* block = reinterpret_cast<char*>(
      (reinterpret_cast<uintptr_t>(pool.next) + kHeaderBytes + mask) & ~mask);
  if (bytes > static_cast<size_t>(pool.end - block)) return nullptr;
  memcpy(block - kHeaderBytes, &bytes, sizeof(bytes));
  pool.next = block + bytes;
  return block;
}

size_t SizeOfBlock(void* block) {
  size_t bytes = 0;
  if (block != nullptr) memcpy(&bytes, static_cast<char*>(block) - kHeaderBytes, sizeof(bytes));
  return bytes;
}

}  // namespace

HEAPTAPE_EXPORT void* malloc(size_t bytes) { return Allocate(16, bytes); }
HEAPTAPE_EXPORT void* calloc(size_t count, size_t bytes) { return Allocate(16, count * bytes); }
HEAPTAPE_EXPORT void* memalign(size_t alignment, size_t bytes) {
  return Allocate(alignment, bytes);
}
HEAPTAPE_EXPORT void free(void*) {}
HEAPTAPE_EXPORT size_t malloc_usable_size(void* block) { return SizeOfBlock(block); }
HEAPTAPE_EXPORT void* realloc(void* old, size_t bytes) {
  void* block = Allocate(16, bytes);
  const size_t old_bytes = SizeOfBlock(old);
  if (block != nullptr && old != nullptr) memcpy(block, old, old_bytes < bytes ? old_bytes : bytes);
  return block;
}
