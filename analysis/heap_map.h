// HeapMap: every byte that an allocator holds, attributed: to a live block, to
// overhead, or to a hole. The three add up to the system bytes, always.
//
//   region lo                                                           region hi
//   | head |  block A  |h|  block B  |        hole        |h|  block C  |  hole  |
//   '------'           '-'                                '-'
//    overhead: a region's first header, the header before each block, and every
//    gap that is too small to hold a block
//
// In glibc a block has 8 bytes before it, the size of its chunk. A free chunk of
// F bytes between two blocks leaves F + 8 bytes that no block covers, F of hole
// and the next block's header. What lies behind the last block of a region (the
// top of a heap) has no block behind it, and all of it is hole.
//
// Mainland. Thread-safe. Time n log n if the blocks are not in address order.

#ifndef HEAPTAPE_ANALYSIS_HEAP_MAP_H_
#define HEAPTAPE_ANALYSIS_HEAP_MAP_H_

#include <cstddef>
#include <cstdint>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "proto/event.h"

namespace heaptape {

// A block that the program holds.
struct HeapBlock {
  uint64_t address = 0;
  uint64_t usable_bytes = 0;
  uint64_t requested_bytes = 0;
  uint64_t event = 0;  // that gave it its size
  uint32_t thread = 0;
  EventKind kind = EventKind::kMalloc;
};

// A piece of address space that the allocator holds.
struct HeapRegion {
  uint64_t lo = 0;
  uint64_t hi = 0;
  uint64_t birth_event = 0;
  uint32_t origin = 0;    // number of the mapping that it is a part of; 0: the brk heap
  bool writable = false;  // others are not system bytes
};

// A block that the allocator keeps for itself.
struct OwnBlock {
  uint64_t address = 0;
  uint64_t bytes = 0;
};

// How an allocator lays blocks out.
struct BlockLayout {
  uint64_t header_bytes = 0;         // before each block
  uint64_t region_header_bytes = 0;  // before the first block of a region
  uint64_t min_block_bytes = 16;     // what the least block takes from a heap
  uint64_t free_header_bytes = 0;    // that a free block cannot give back to the kernel
  // A region whose only block ends where it ends was mapped for that block:
  // before the block is alignment, not a hole.
  bool maps_single_blocks = false;
};

inline constexpr BlockLayout kGlibcLayout = {.header_bytes = 8,
                                             .region_header_bytes = 16,
                                             .min_block_bytes = 32,
                                             .free_header_bytes = 40,
                                             .maps_single_blocks = true};
// Of an allocator whose insides we do not know. Its tables count as holes where
// they lie among its blocks.
inline constexpr BlockLayout kUnknownLayout = {};

inline constexpr uint64_t kMapPageBytes = 4096;

struct Hole {
  // What is before or behind it, if not a block: the region's end, or a block of the
  // allocator's own.
  static constexpr ptrdiff_t kRegionEnd = -1;
  static constexpr ptrdiff_t kAllocator = -2;

  uint64_t address = 0;
  uint64_t bytes = 0;
  uint64_t trimmable_bytes = 0;  // whole pages in it that the kernel could have back
  size_t region = 0;             // index into the regions
  ptrdiff_t before = kRegionEnd;  // index into the blocks, or one of the above
  ptrdiff_t after = kRegionEnd;
};

// What lies in one region: system == usable + overhead + holes here too.
struct RegionTotals {
  size_t region = 0;  // index into the regions
  uint64_t system_bytes = 0;
  uint64_t live_blocks = 0;
  uint64_t requested_bytes = 0;
  uint64_t usable_bytes = 0;
  uint64_t overhead_bytes = 0;
  uint64_t hole_count = 0;
  uint64_t hole_bytes = 0;
  uint64_t trimmable_bytes = 0;
  bool one_block = false;  // mapped for one block alone
};

struct HeapMap {
  uint64_t live_blocks = 0;
  uint64_t requested_bytes = 0;
  uint64_t usable_bytes = 0;    // system_bytes == usable_bytes + overhead_bytes + hole_bytes
  uint64_t overhead_bytes = 0;
  uint64_t hole_bytes = 0;
  uint64_t system_bytes = 0;
  uint64_t trimmable_bytes = 0;
  std::vector<Hole> holes;      // by address
  std::vector<RegionTotals> regions;  // writable ones, touching pieces joined; by address
  // Usable bytes of blocks outside all writable regions: 0 unless the allocator
  // has memory that its system calls did not tell of. Not in usable_bytes.
  uint64_t outside_bytes = 0;

  uint64_t slop_bytes() const { return usable_bytes + outside_bytes - requested_bytes; }
};

// `regions` in address order. Internal, naming both, where two blocks or regions
// overlap: then the allocator is broken, or the replay is.
absl::StatusOr<HeapMap> MapHeap(absl::Span<const HeapBlock> blocks, absl::Span<const HeapRegion> regions,
                                absl::Span<const OwnBlock> own_blocks, const BlockLayout& layout);

}  // namespace heaptape

#endif  // HEAPTAPE_ANALYSIS_HEAP_MAP_H_
