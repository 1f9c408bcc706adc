// What the engine must know of the insides of glibc's malloc.
//
// Island; never allocates. Layouts are those of glibc 2.27 to 2.41 on x86-64
// (malloc/arena.c, malloc/malloc.c); where memory does not look like them,
// nothing is reported rather than something wrong.

#ifndef HEAPTAPE_REPLAYER_ENGINE_GLIBC_HEAP_H_
#define HEAPTAPE_REPLAYER_ENGINE_GLIBC_HEAP_H_

#include <stddef.h>
#include <stdint.h>

#include "replayer/engine/region_table.h"
#include "replayer/plan/instruction.h"

namespace heaptape {

// The first bytes of each mapping that serves an arena other than the main one:
// struct heap_info.
struct GlibcHeap {
  uint64_t arena;  // struct malloc_state; of the first heap of an arena: right behind this
  uint64_t previous;
  uint64_t size;  // bytes of the heap that the arena may use
  uint64_t writable_size;
};

// malloc_usable_size, read from the chunk's header: the word before the block.
inline uint64_t GlibcUsableBytes(const void* block) {
  const uint64_t word = ((const uint64_t*)block)[-1];
  return (word & ~uint64_t{7}) - ((word & 2) != 0 ? 16 : 8);  // bit 1: mmapped on its own
}

// What the same word says of a block: whether it has a mapping of its own, and
// whether it is in a heap of an arena other than the main one.
inline bool IsMmapped(uint64_t block) { return (((const uint64_t*)block)[-1] & 2) != 0; }
inline bool IsInArenaHeap(uint64_t block) { return (((const uint64_t*)block)[-1] & 4) != 0; }

// Finds blocks that glibc made for itself: each heap's head (heap_info, and an
// arena's malloc_state), and the tcache_perthread_struct of each thread.
class GlibcOwnBlocks {
 public:
  // Fills at most `capacity` of `blocks`, from `table`.
  GlibcOwnBlocks(const RegionTable& table, Slot* blocks, uint32_t capacity)
      : table_(table), blocks_(blocks), capacity_(capacity) {}

  void AddHeapHeads();
  // `fs_base` of a living thread. REQUIRES: the calling thread's own FS base.
  void AddTcache(uint64_t fs_base);
  // Of the chunks that the tcaches added so far keep.
  uint64_t tcache_bytes() const { return tcache_bytes_; }
  // Orders them by address. Returns how many there are.
  uint32_t Sort();

 private:
  void Add(uint64_t address, uint64_t bytes);

  const RegionTable& table_;
  Slot* const blocks_;
  const uint32_t capacity_;
  uint32_t count_ = 0;
  uint64_t tcache_bytes_ = 0;
  // Where libc's thread-local variables lie from a thread's FS base; 0: not yet looked for.
  int64_t tls_offset_ = 0;
  uint64_t tls_bytes_ = 0;
};

}  // namespace heaptape

#endif  // HEAPTAPE_REPLAYER_ENGINE_GLIBC_HEAP_H_
