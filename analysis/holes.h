// HolesReport: the free memory that a heap cannot give back, and what pins it.
//
// Mainland. Thread-safe.

#ifndef HEAPTAPE_ANALYSIS_HOLES_H_
#define HEAPTAPE_ANALYSIS_HOLES_H_

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "absl/types/span.h"
#include "analysis/heap_map.h"

namespace heaptape {

// Holes of min_bytes to max_bytes, both included.
struct HoleClass {
  uint64_t min_bytes = 0;  // a power of two
  uint64_t max_bytes = 0;
  uint64_t count = 0;
  uint64_t bytes = 0;

  bool operator==(const HoleClass&) const = default;
};

// What stands at one end of a hole.
struct Neighbour {
  enum class Kind {
    kRegionEnd,  // nothing: the region begins or ends here
    kAllocator,  // a block of the allocator's own
    kBlock,      // a live block
  };
  Kind kind = Kind::kRegionEnd;
  HeapBlock block;  // if it is one
};

// That of a hole's `before` or `after`.
Neighbour NeighbourAt(ptrdiff_t index, absl::Span<const HeapBlock> blocks);

struct HoleDetail {
  uint32_t origin = 0;        // of the region: 0 is the brk heap
  uint64_t birth_event = 0;   // of the region
  uint64_t offset = 0;        // in the region, the same in every replay
  uint64_t bytes = 0;
  uint64_t trimmable_bytes = 0;
  Neighbour before;
  // A hole that a block ends is pinned by it; at the end of a region (the top of a
  // heap) nothing does.
  Neighbour pinned_by;
};

// A live block, by the hole that it ends.
struct Pin {
  HeapBlock block;
  uint64_t held_bytes = 0;
  uint64_t trimmable_bytes = 0;
};

// Blocks alike that pin holes: of one thread and one size class.
struct PinGroup {
  uint32_t thread = 0;
  uint64_t min_bytes = 0;  // asked for: a power of two, or 0
  uint64_t max_bytes = 0;
  uint64_t count = 0;
  uint64_t held_bytes = 0;
  uint64_t median_event = 0;  // of those that made them

  bool operator==(const PinGroup&) const = default;
};

// What lies in one region, or in all mappings of single blocks together.
struct ArenaTotals {
  uint32_t origin = 0;
  uint64_t regions = 1;
  bool one_block = false;  // mappings of single blocks
  uint64_t system_bytes = 0;
  uint64_t live_blocks = 0;
  uint64_t usable_bytes = 0;
  uint64_t overhead_bytes = 0;
  uint64_t hole_count = 0;
  uint64_t hole_bytes = 0;
  uint64_t trimmable_bytes = 0;
};

// What malloc_trim(0) did when the replay called it at the end, each page of a block
// having been written to.
struct TrimEffect {
  uint64_t resident_bytes_before = 0, resident_bytes_after = 0;
  uint64_t system_bytes_before = 0, system_bytes_after = 0;

  uint64_t returned_bytes() const {
    return resident_bytes_before > resident_bytes_after ? resident_bytes_before - resident_bytes_after : 0;
  }
};

struct HolesReport {
  // Set by whoever knows the replay.
  uint64_t at_event = 0;
  std::string digest;
  std::optional<TrimEffect> trim;
  // Bytes of holes that thread caches keep, where the allocator's headers show them.
  std::optional<uint64_t> thread_cache_bytes;

  // Of the heap: see HeapMap.
  uint64_t live_blocks = 0;
  uint64_t requested_bytes = 0;
  uint64_t usable_bytes = 0;
  uint64_t overhead_bytes = 0;
  uint64_t system_bytes = 0;
  // system == requested + slop + mapping_padding + overhead + holes, where all blocks
  // lie in regions.
  uint64_t slop_bytes = 0;             // of blocks in heaps
  uint64_t mapping_padding_bytes = 0;  // slop of blocks with a mapping of their own

  uint64_t hole_count = 0;
  uint64_t hole_bytes = 0;
  uint64_t largest_hole_bytes = 0;
  uint64_t trimmable_bytes = 0;
  uint64_t top_bytes = 0;             // of holes that nothing pins
  // hole_bytes == between + brk_top + tail
  uint64_t between_bytes = 0;         // pinned
  uint64_t brk_top_bytes = 0;         // at the end of the brk heap
  uint64_t tail_bytes = 0;            // at the end of other regions: arena heaps
  // What trimming leaves, since a live block has a part of the page:
  // hole_bytes == trimmable + small_hole + page_part
  uint64_t small_hole_count = 0, small_hole_bytes = 0;  // holes without a whole page
  uint64_t page_part_bytes = 0;                         // the ends of the others
  std::vector<HoleClass> histogram;   // classes that are not empty, ascending
  std::vector<HoleDetail> largest;    // by bytes, descending; then by address
  uint64_t pin_count = 0;             // live blocks that end a hole
  std::vector<Pin> pins;              // those that hold back most, descending; then by address
  std::vector<PinGroup> pin_groups;   // all, by held bytes, descending; then by thread and size
  std::vector<ArenaTotals> arenas;    // by hole bytes, descending; single blocks' mappings last
};

// The report on `map`, which MapHeap made of the same `blocks` and `regions`, with
// details of the `details` largest holes.
HolesReport FindHoles(const HeapMap& map, absl::Span<const HeapBlock> blocks, absl::Span<const HeapRegion> regions,
                      size_t details);

}  // namespace heaptape

#endif  // HEAPTAPE_ANALYSIS_HOLES_H_
