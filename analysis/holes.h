// HolesReport: the free memory that a heap cannot give back, and what pins it.
//
// Mainland. Thread-safe.

#ifndef HEAPTAPE_ANALYSIS_HOLES_H_
#define HEAPTAPE_ANALYSIS_HOLES_H_

#include <cstdint>
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

struct HolesReport {
  // Set by whoever knows the replay.
  uint64_t at_event = 0;
  std::string digest;

  // Of the heap: see HeapMap.
  uint64_t live_blocks = 0;
  uint64_t requested_bytes = 0;
  uint64_t usable_bytes = 0;
  uint64_t overhead_bytes = 0;
  uint64_t system_bytes = 0;

  uint64_t hole_count = 0;
  uint64_t hole_bytes = 0;
  uint64_t largest_hole_bytes = 0;
  uint64_t trimmable_bytes = 0;
  uint64_t top_bytes = 0;             // of holes that nothing pins
  std::vector<HoleClass> histogram;   // classes that are not empty, ascending
  std::vector<HoleDetail> largest;    // by bytes, descending; then by address
};

// The report on `map`, which MapHeap made of the same `blocks` and `regions`, with
// details of the `details` largest holes.
HolesReport FindHoles(const HeapMap& map, absl::Span<const HeapBlock> blocks, absl::Span<const HeapRegion> regions,
                      size_t details);

}  // namespace heaptape

#endif  // HEAPTAPE_ANALYSIS_HOLES_H_
