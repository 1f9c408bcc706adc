// Placement: does a block lie where the recording had it?
//
// Island; the replaying thread only; glibc alone. Heaps come out at other addresses
// in each process, so what is compared is the distance from the heap's first block:
// the first block that lands in a heap says how far the recorded heap is from the
// replayed one, and each later block agrees if it is just as far from where it was
// recorded. A block with a mapping of its own agrees if the recorded one lies where
// only such a block does, at the same place of its page.
//
// A heap that has gone and come back, another mapping at the same place, begins
// anew.

#ifndef HEAPTAPE_REPLAYER_ENGINE_PLACEMENT_H_
#define HEAPTAPE_REPLAYER_ENGINE_PLACEMENT_H_

#include <stdint.h>

#include "replayer/engine/glibc_heap.h"
#include "replayer/plan/instruction.h"

namespace heaptape {

class Placement {
 public:
  static constexpr int kHeapShift = 26;  // arena heaps are aligned to 64 MiB
  static constexpr uint64_t kHeaps = uint64_t{1} << (47 - kHeapShift);

  struct Heap {
    uint64_t origin;  // plus one; 0: no block yet
    uint64_t distance;
  };

  // `heaps`: kHeaps of them, zeroed; only those of heaps that exist are touched.
  void Init(Heap* heaps) { heaps_ = heaps; }

  // `block`, which lies in the region numbered `origin`, was recorded at `recorded`.
  void Compare(uint64_t block, uint64_t origin, uint64_t recorded, uint64_t event) {
    ++counts_.compared;
    uint64_t expected;
    if (IsMmapped(block)) {
      expected = (recorded & ~uint64_t{4095}) | (block & 4095);
    } else {
      Heap& heap = heaps_[IsInArenaHeap(block) ? block >> kHeapShift & (kHeaps - 1) : 0];
      if (heap.origin != origin + 1) heap = {origin + 1, recorded - block};
      expected = block + heap.distance;
    }
    if (__builtin_expect(expected == recorded, 1)) {
      ++counts_.equal;
    } else if (counts_.first_event == 0) {
      counts_.first_event = event;
      counts_.first_recorded = recorded;
      counts_.first_replayed = expected;
    }
  }

  const PlacementCounts& counts() const { return counts_; }

 private:
  Heap* heaps_;
  PlacementCounts counts_;
};

}  // namespace heaptape

#endif  // HEAPTAPE_REPLAYER_ENGINE_PLACEMENT_H_
