// Room: why a heap had to grow though most of it was free. For a call about to be
// made, which free places were nearest to being large enough, by how many bytes they
// were too short, and which block ends each.
//
// Mainland. Thread-safe.

#ifndef HEAPTAPE_ANALYSIS_ROOM_H_
#define HEAPTAPE_ANALYSIS_ROOM_H_

#include <cstddef>
#include <cstdint>
#include <vector>

#include "analysis/heap_map.h"
#include "proto/event.h"

namespace heaptape {

// What is asked for.
struct RoomRequest {
  static constexpr size_t kNoBlock = ~size_t{0};

  uint64_t bytes = 0;
  uint8_t alignment_log2 = 0;  // 0: whatever malloc gives
  // Of a realloc: index of the block that is to grow, which may do so in place.
  size_t old_block = kNoBlock;
  // Of the region that grew. Holes of others belong to other arenas, more or less.
  uint32_t origin = 0;
};

// A place that is free, or that would be once the block to grow is out of the way.
struct Room {
  enum class Kind {
    kHole,     // between blocks
    kInPlace,  // the block that is to grow, and the hole behind it
    kEnd,      // at the end of a region, which can be made larger: the top of a heap
  };

  Kind kind = Kind::kHole;
  uint64_t address = 0;
  uint64_t bytes = 0;          // what it can hold, the header of one block included
  uint64_t missing_bytes = 0;  // how much larger the request is; 0: it would fit
  size_t region = 0;
  bool elsewhere = false;  // in a region of another origin than the request's
  ptrdiff_t before = Hole::kRegionEnd;  // as in Hole
  ptrdiff_t pinned_by = Hole::kRegionEnd;

  bool operator==(const Room&) const = default;
};

struct RoomReport {
  uint64_t hole_count = 0;
  uint64_t hole_bytes = 0;
  // Holes by how they compare with the request: at least an eighth of its power of
  // two, at least that power of two, large enough.
  uint64_t power_of_two = 0;  // the largest that is no more than the request
  uint64_t eighth_count = 0;
  uint64_t power_count = 0;
  uint64_t fitting_count = 0;
  uint64_t fitting_elsewhere_count = 0;  // of these
  // The nearest of them, in place or not: by missing bytes, ascending; then by
  // address. Those elsewhere come after those in the region that grew, those at the
  // end of a region after all others.
  std::vector<Room> nearest;
};

// Looks at each hole of `map`, made of `blocks` and `regions` under `layout`; keeps
// `kept` places.
RoomReport FindRoom(const HeapMap& map, const std::vector<HeapBlock>& blocks, const std::vector<HeapRegion>& regions,
                    const BlockLayout& layout, const RoomRequest& request, size_t kept);

// What the allocator looks for: the request with its header, rounded, and with
// whatever an alignment may cost. Under an unknown layout, the request itself.
uint64_t BytesLookedFor(const BlockLayout& layout, const RoomRequest& request);

}  // namespace heaptape

#endif  // HEAPTAPE_ANALYSIS_ROOM_H_
