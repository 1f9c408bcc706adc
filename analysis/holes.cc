#include "analysis/holes.h"

#include <algorithm>
#include <array>
#include <bit>

namespace heaptape {

Neighbour NeighbourAt(ptrdiff_t index, absl::Span<const HeapBlock> blocks) {
  if (index == Hole::kRegionEnd) return {};
  if (index == Hole::kAllocator) return {.kind = Neighbour::Kind::kAllocator, .block = {}};
  return {.kind = Neighbour::Kind::kBlock, .block = blocks[static_cast<size_t>(index)]};
}

HolesReport FindHoles(const HeapMap& map, absl::Span<const HeapBlock> blocks, absl::Span<const HeapRegion> regions,
                      size_t details) {
  HolesReport report;
  report.live_blocks = map.live_blocks;
  report.requested_bytes = map.requested_bytes;
  report.usable_bytes = map.usable_bytes;
  report.overhead_bytes = map.overhead_bytes;
  report.system_bytes = map.system_bytes;
  report.hole_count = map.holes.size();
  report.hole_bytes = map.hole_bytes;
  report.trimmable_bytes = map.trimmable_bytes;

  std::array<HoleClass, 64> classes;
  for (const Hole& hole : map.holes) {
    report.largest_hole_bytes = std::max(report.largest_hole_bytes, hole.bytes);
    if (hole.after == Hole::kRegionEnd) report.top_bytes += hole.bytes;
    HoleClass& hole_class = classes[static_cast<size_t>(std::bit_width(hole.bytes)) - 1];
    ++hole_class.count;
    hole_class.bytes += hole.bytes;
  }
  for (size_t i = 0; i < classes.size(); ++i) {
    if (classes[i].count == 0) continue;
    classes[i].min_bytes = uint64_t{1} << i;
    classes[i].max_bytes = (uint64_t{1} << i) * 2 - 1;
    report.histogram.push_back(classes[i]);
  }

  std::vector<const Hole*> largest;
  largest.reserve(map.holes.size());
  for (const Hole& hole : map.holes) largest.push_back(&hole);
  const auto shown = largest.begin() + static_cast<ptrdiff_t>(std::min(details, largest.size()));
  std::partial_sort(largest.begin(), shown, largest.end(), [](const Hole* a, const Hole* b) {
    return a->bytes != b->bytes ? a->bytes > b->bytes : a->address < b->address;
  });
  for (auto hole = largest.begin(); hole != shown; ++hole) {
    const HeapRegion& region = regions[(*hole)->region];
    report.largest.push_back({.origin = region.origin,
                              .birth_event = region.birth_event,
                              .offset = (*hole)->address - region.lo,
                              .bytes = (*hole)->bytes,
                              .trimmable_bytes = (*hole)->trimmable_bytes,
                              .before = NeighbourAt((*hole)->before, blocks),
                              .pinned_by = NeighbourAt((*hole)->after, blocks)});
  }
  return report;
}

}  // namespace heaptape
