// RegionCache: where an address lies in its region, for the digest, quickly.
//
// Island; the replaying thread only. The digest must not depend on where the
// kernel puts mappings, so an address counts as (number of its region's origin,
// distance from the region's beginning). The cache is direct-mapped by 64 MiB of
// address space, which is how glibc aligns its arena heaps, and is emptied
// whenever the region table changes.

#ifndef HEAPTAPE_REPLAYER_ENGINE_REGION_CACHE_H_
#define HEAPTAPE_REPLAYER_ENGINE_REGION_CACHE_H_

#include <stdint.h>

#include "replayer/engine/region_table.h"

namespace heaptape {

class RegionCache {
 public:
  void Init(const RegionTable* table, uint64_t heap_start) {
    table_ = table;
    heap_start_ = heap_start;
    Clear();
  }

  void Clear() {
    for (Entry& entry : entries_) entry.bytes = 0;
  }

  // The number of the region in a place.
  static uint64_t OriginOf(uint64_t place) { return place >> kTagShift; }

  uint64_t Place(uint64_t address) {
    const Entry& entry = entries_[address >> 26 & (kEntries - 1)];
    const uint64_t offset = address - entry.lo;
    if (__builtin_expect(offset < entry.bytes, 1)) return offset + entry.tag;
    return Find(address);
  }

 private:
  static constexpr uint64_t kEntries = 64;
  static constexpr int kTagShift = 44;  // no region is larger

  struct Entry {
    uint64_t lo;
    uint64_t bytes;
    uint64_t tag;
  };

  __attribute__((noinline)) uint64_t Find(uint64_t address) {
    const RegionTable::Piece* piece = table_->Find(address);
    if (piece != nullptr) {
      entries_[address >> 26 & (kEntries - 1)] = {piece->lo, piece->hi - piece->lo,
                                                  (uint64_t)piece->origin << kTagShift};
      return address - piece->lo + ((uint64_t)piece->origin << kTagShift);
    }
    // Nobody saw the system call. The brk heap is known all the same; of others
    // the place in the page is all that can be relied on.
    if (address - heap_start_ < (uint64_t)1 << 40) return address - heap_start_;
    return (address & 4095) | (uint64_t)0xfffff << kTagShift;
  }

  const RegionTable* table_;
  uint64_t heap_start_;
  Entry entries_[kEntries];
};

}  // namespace heaptape

#endif  // HEAPTAPE_REPLAYER_ENGINE_REGION_CACHE_H_
