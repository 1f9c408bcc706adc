#include "analysis/heap_map.h"

#include <algorithm>

#include "absl/strings/str_cat.h"

namespace heaptape {
namespace {

// A stretch that is covered, by a live block or by one of the allocator's own.
struct Covered {
  uint64_t lo;
  uint64_t hi;
  ptrdiff_t owner;  // index of the block, or Hole::kAllocator
};

std::string Hex(uint64_t address) { return absl::StrCat("0x", absl::Hex(address)); }

absl::StatusOr<std::vector<Covered>> CoveredStretches(absl::Span<const HeapBlock> blocks,
                                                      absl::Span<const OwnBlock> own_blocks) {
  std::vector<Covered> covered;
  covered.reserve(blocks.size() + own_blocks.size());
  for (size_t i = 0; i < blocks.size(); ++i) {
    covered.push_back({blocks[i].address, blocks[i].address + blocks[i].usable_bytes, static_cast<ptrdiff_t>(i)});
  }
  for (const OwnBlock& own : own_blocks) covered.push_back({own.address, own.address + own.bytes, Hole::kAllocator});
  const auto by_address = [](const Covered& a, const Covered& b) { return a.lo < b.lo; };
  if (!std::is_sorted(covered.begin(), covered.end(), by_address)) {
    std::stable_sort(covered.begin(), covered.end(), by_address);
  }
  for (size_t i = 1; i < covered.size(); ++i) {
    if (covered[i].lo >= covered[i - 1].hi) continue;
    return absl::InternalError(absl::StrCat("the blocks at ", Hex(covered[i - 1].lo), " (", covered[i - 1].hi - covered[i - 1].lo,
                                            " bytes) and ", Hex(covered[i].lo), " overlap"));
  }
  return covered;
}

// Walks the regions and the covered stretches together.
class Mapper {
 public:
  Mapper(absl::Span<const HeapBlock> blocks, absl::Span<const HeapRegion> regions, const std::vector<Covered>& covered,
         const BlockLayout& layout, HeapMap* map)
      : blocks_(blocks), regions_(regions), covered_(covered), layout_(layout), map_(*map) {}

  void Run() {
    for (size_t first = 0; first < regions_.size();) {
      // Pieces of one mapping that touch are one region.
      size_t last = first;
      while (last + 1 < regions_.size() && regions_[first].writable && regions_[last + 1].writable &&
             regions_[last + 1].lo == regions_[last].hi && regions_[last + 1].origin == regions_[first].origin) {
        ++last;
      }
      if (regions_[first].writable) AddRegion(first, regions_[first].lo, regions_[last].hi);
      first = last + 1;
    }
    SkipTo(~uint64_t{0});
  }

 private:
  // Steps over what lies below `lo`; if that is a live block, it is outside.
  void SkipTo(uint64_t lo) {
    for (; next_ < covered_.size() && covered_[next_].lo < lo; ++next_) {
      const Covered& stretch = covered_[next_];
      const uint64_t from = std::max(stretch.lo, done_);
      const uint64_t to = std::min(stretch.hi, lo);
      if (stretch.owner >= 0 && from < to) map_.outside_bytes += to - from;
      if (stretch.hi > lo) {
        done_ = lo;  // the rest of it lies in the region that begins here
        return;
      }
    }
  }

  void AddRegion(size_t region, uint64_t lo, uint64_t hi) {
    SkipTo(lo);
    RegionTotals totals = {.region = region, .system_bytes = hi - lo};
    const uint64_t usable = map_.usable_bytes;
    const uint64_t overhead = map_.overhead_bytes;
    const uint64_t hole_bytes = map_.hole_bytes;
    const uint64_t trimmable = map_.trimmable_bytes;
    const size_t hole_count = map_.holes.size();
    map_.system_bytes += hi - lo;
    uint64_t at = lo;
    ptrdiff_t before = Hole::kRegionEnd;
    bool at_start = true;
    const bool one_block = layout_.maps_single_blocks && next_ < covered_.size() && covered_[next_].hi == hi;
    while (next_ < covered_.size() && covered_[next_].lo < hi) {
      const Covered& stretch = covered_[next_];
      const uint64_t from = std::max({stretch.lo, lo, done_});
      const uint64_t to = std::min(stretch.hi, hi);
      if (at_start && one_block) {
        map_.overhead_bytes += from - at;
      } else {
        AddGap(region, at, from, at_start ? layout_.region_header_bytes : layout_.header_bytes, before, stretch.owner);
      }
      (stretch.owner >= 0 ? map_.usable_bytes : map_.overhead_bytes) += to - from;
      if (stretch.owner >= 0) {
        ++totals.live_blocks;
        totals.requested_bytes += blocks_[static_cast<size_t>(stretch.owner)].requested_bytes;
      }
      // A head that the allocator keeps at a region's beginning moves the beginning.
      at_start = at_start && stretch.owner == Hole::kAllocator && from == lo;
      at = to;
      before = stretch.owner;
      done_ = to;
      if (stretch.hi > hi) break;
      ++next_;
    }
    // At the end of a region there is no next block whose header would be needed.
    AddGap(region, at, hi, 0, before, Hole::kRegionEnd);
    done_ = hi;
    totals.one_block = one_block && totals.live_blocks == 1;
    totals.usable_bytes = map_.usable_bytes - usable;
    totals.overhead_bytes = map_.overhead_bytes - overhead;
    totals.hole_bytes = map_.hole_bytes - hole_bytes;
    totals.trimmable_bytes = map_.trimmable_bytes - trimmable;
    totals.hole_count = map_.holes.size() - hole_count;
    map_.regions.push_back(totals);
  }

  // [lo, hi) is covered by nothing. `overhead` bytes of it belong to the block behind.
  void AddGap(size_t region, uint64_t lo, uint64_t hi, uint64_t overhead, ptrdiff_t before, ptrdiff_t after) {
    if (hi - lo < overhead + layout_.min_block_bytes) {
      map_.overhead_bytes += hi - lo;
      return;
    }
    Hole hole;
    hole.address = lo;
    hole.bytes = hi - lo - overhead;
    hole.region = region;
    hole.before = before;
    hole.after = after;
    const uint64_t first_page = (lo + layout_.free_header_bytes + kMapPageBytes - 1) / kMapPageBytes * kMapPageBytes;
    const uint64_t last_page = (lo + hole.bytes) / kMapPageBytes * kMapPageBytes;
    if (first_page < last_page) hole.trimmable_bytes = last_page - first_page;
    map_.overhead_bytes += overhead;
    map_.hole_bytes += hole.bytes;
    map_.trimmable_bytes += hole.trimmable_bytes;
    map_.holes.push_back(hole);
  }

  const absl::Span<const HeapBlock> blocks_;
  const absl::Span<const HeapRegion> regions_;
  const std::vector<Covered>& covered_;
  const BlockLayout& layout_;
  HeapMap& map_;
  size_t next_ = 0;    // of covered_, not yet attributed in full
  uint64_t done_ = 0;  // up to here it is
};

}  // namespace

absl::StatusOr<HeapMap> MapHeap(absl::Span<const HeapBlock> blocks, absl::Span<const HeapRegion> regions,
                                absl::Span<const OwnBlock> own_blocks, const BlockLayout& layout) {
  for (size_t i = 0; i < regions.size(); ++i) {
    if (regions[i].lo > regions[i].hi || (i > 0 && regions[i].lo < regions[i - 1].hi)) {
      return absl::InternalError(absl::StrCat("the regions at ", Hex(regions[i > 0 ? i - 1 : 0].lo), " and ",
                                              Hex(regions[i].lo), " overlap or are out of order"));
    }
  }
  absl::StatusOr<std::vector<Covered>> covered = CoveredStretches(blocks, own_blocks);
  if (!covered.ok()) return covered.status();
  HeapMap map;
  map.live_blocks = blocks.size();
  for (const HeapBlock& block : blocks) map.requested_bytes += block.requested_bytes;
  Mapper(blocks, regions, *covered, layout, &map).Run();
  return map;
}

}  // namespace heaptape
