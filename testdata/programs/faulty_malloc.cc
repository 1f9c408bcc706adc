// An allocator that hands out one piece of memory from front to back, never ends the
// call for a block of kHangs bytes, and ends the process at one of kCrashes bytes.

#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <sys/mman.h>

static constexpr size_t kHangs = 4242;
static constexpr size_t kCrashes = 4343;
static constexpr size_t kBytes = size_t{1} << 30;

struct alignas(16) Header {
  size_t size;
};

static char* next;

static void* Allocate(size_t size, size_t alignment = alignof(Header)) {
  for (volatile bool hangs = size == kHangs; hangs;) {
  }
  if (size == kCrashes) __builtin_trap();
  if (next == nullptr) {
    next = static_cast<char*>(
        mmap(nullptr, kBytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0));
  }
  next += -reinterpret_cast<uintptr_t>(next + sizeof(Header)) & (alignment - 1);
  Header* header = reinterpret_cast<Header*>(next);
  header->size = size;
  next += sizeof(Header) + ((size + 15) & ~size_t{15});
  return header + 1;
}

static size_t SizeOf(void* block) { return block == nullptr ? 0 : static_cast<Header*>(block)[-1].size; }

// Exported functions do not call each other: the interposer would see that.
extern "C" {

void* malloc(size_t size) noexcept { return Allocate(size); }
void free(void*) noexcept {}
void* calloc(size_t count, size_t size) noexcept { return Allocate(count * size); }
void* realloc(void* old, size_t size) noexcept {
  void* block = Allocate(size);
  const size_t kept = SizeOf(old) < size ? SizeOf(old) : size;
  if (old != nullptr) memcpy(block, old, kept);
  return block;
}
void* aligned_alloc(size_t alignment, size_t size) noexcept { return Allocate(size, alignment); }
size_t malloc_usable_size(void* block) noexcept { return SizeOf(block); }

}  // extern "C"
