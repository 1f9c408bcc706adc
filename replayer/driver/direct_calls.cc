// direct_calls: makes the calls of a plan itself, with no engine around them, and
// prints what mallinfo2 says. For replay_test alone.
//
//   direct_calls < WORDS
//
// Reads the plan's words into a mapping, and otherwise uses nothing that
// allocates. One thread: lanes are ignored.

#include <malloc.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#include "replayer/plan/instruction.h"

using namespace heaptape;

namespace {

template <typename T>
T* Map(size_t count) {
  void* memory = mmap(nullptr, count * sizeof(T), PROT_READ | PROT_WRITE,
                      MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (memory == MAP_FAILED) _exit(3);
  return static_cast<T*>(memory);
}

constexpr size_t kCapacity = 64 << 20;

}  // namespace

int main() {
  uint64_t* words = Map<uint64_t>(kCapacity);
  void** slots = Map<void*>(kCapacity);
  size_t bytes = 0;
  for (ssize_t got; (got = read(0, reinterpret_cast<char*>(words) + bytes, 1 << 20)) > 0;) {
    bytes += got;
  }
  for (size_t i = 0; i < bytes / sizeof(uint64_t); ++i) {
    const uint64_t word = words[i];
    const uint64_t size = IsWide(word) ? words[++i] : SizeOf(word);
    void*& slot = slots[SlotOf(word)];
    switch (OpOf(word)) {
      case Op::kMalloc:
        slot = malloc(size);
        break;
      case Op::kCalloc:
        slot = calloc(1, size);
        break;
      case Op::kRealloc:
        slot = realloc(slot, size);
        break;
      case Op::kMemalign:
        slot = memalign(size_t{1} << SizeOf(word), size);
        break;
      case Op::kFree:
      case Op::kDrop:
        free(slot);
        break;
      case Op::kTrim:
        malloc_trim(size);
        break;
      case Op::kMallopt:
        mallopt(static_cast<int>(size), static_cast<int>(size >> 32));
        break;
      default:
        break;
    }
  }
  const struct mallinfo2 info = mallinfo2();
  char text[200];
  const int length = snprintf(text, sizeof(text), "%zu %zu %zu %zu\n", info.arena, info.hblkhd,
                              info.uordblks, info.fordblks);
  return write(1, text, length) == length ? 0 : 1;
}
