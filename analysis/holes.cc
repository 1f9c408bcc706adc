#include "analysis/holes.h"

#include <algorithm>
#include <array>
#include <bit>
#include <map>
#include <utility>

namespace heaptape {

Neighbour NeighbourAt(ptrdiff_t index, absl::Span<const HeapBlock> blocks) {
  if (index == Hole::kRegionEnd) return {};
  if (index == Hole::kAllocator) return {.kind = Neighbour::Kind::kAllocator, .block = {}};
  return {.kind = Neighbour::Kind::kBlock, .block = blocks[static_cast<size_t>(index)]};
}

namespace {

uint64_t FloorPower(uint64_t bytes) { return bytes == 0 ? 0 : std::bit_floor(bytes); }

void AddPins(const HeapMap& map, absl::Span<const HeapBlock> blocks, size_t details, HolesReport* report) {
  std::vector<Pin>& pins = report->pins;
  for (const Hole& hole : map.holes) {
    if (hole.after < 0) continue;
    pins.push_back({blocks[static_cast<size_t>(hole.after)], hole.bytes, hole.trimmable_bytes});
  }
  report->pin_count = pins.size();
  std::sort(pins.begin(), pins.end(), [](const Pin& a, const Pin& b) {
    return a.held_bytes != b.held_bytes ? a.held_bytes > b.held_bytes : a.block.address < b.block.address;
  });

  std::map<std::pair<uint32_t, uint64_t>, std::vector<const Pin*>> alike;
  for (const Pin& pin : pins) alike[{pin.block.thread, FloorPower(pin.block.requested_bytes)}].push_back(&pin);
  for (auto& [key, members] : alike) {
    PinGroup group = {.thread = key.first,
                      .min_bytes = key.second,
                      .max_bytes = key.second == 0 ? 0 : 2 * key.second - 1,
                      .count = members.size()};
    for (const Pin* pin : members) group.held_bytes += pin->held_bytes;
    const auto middle = members.begin() + static_cast<ptrdiff_t>(members.size() / 2);
    std::nth_element(members.begin(), middle, members.end(),
                     [](const Pin* a, const Pin* b) { return a->block.event < b->block.event; });
    group.median_event = (*middle)->block.event;
    report->pin_groups.push_back(group);
  }
  std::stable_sort(report->pin_groups.begin(), report->pin_groups.end(),
                   [](const PinGroup& a, const PinGroup& b) { return a.held_bytes > b.held_bytes; });
  if (pins.size() > details) pins.resize(details);
}

void AddArenas(const HeapMap& map, absl::Span<const HeapRegion> regions, HolesReport* report) {
  ArenaTotals single = {.regions = 0, .one_block = true};
  const auto add = [](const RegionTotals& region, ArenaTotals* arena) {
    arena->system_bytes += region.system_bytes;
    arena->live_blocks += region.live_blocks;
    arena->usable_bytes += region.usable_bytes;
    arena->overhead_bytes += region.overhead_bytes;
    arena->hole_count += region.hole_count;
    arena->hole_bytes += region.hole_bytes;
    arena->trimmable_bytes += region.trimmable_bytes;
  };
  // The brk heap is one, though mappings of others may lie between its pieces.
  std::map<uint32_t, ArenaTotals> by_origin;
  for (const RegionTotals& region : map.regions) {
    if (region.one_block) {
      ++single.regions;
      add(region, &single);
      report->mapping_padding_bytes += region.usable_bytes - std::min(region.usable_bytes, region.requested_bytes);
      continue;
    }
    const uint32_t origin = regions[region.region].origin;
    const auto [arena, is_new] = by_origin.try_emplace(origin, ArenaTotals{.origin = origin});
    if (!is_new) ++arena->second.regions;
    add(region, &arena->second);
  }
  for (const auto& [origin, arena] : by_origin) report->arenas.push_back(arena);
  std::stable_sort(report->arenas.begin(), report->arenas.end(),
                   [](const ArenaTotals& a, const ArenaTotals& b) { return a.hole_bytes > b.hole_bytes; });
  if (single.regions > 0) report->arenas.push_back(single);
  const uint64_t slop = map.usable_bytes + map.outside_bytes - map.requested_bytes;
  report->slop_bytes = slop - std::min(slop, report->mapping_padding_bytes);
}

}  // namespace

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
    if (hole.after != Hole::kRegionEnd) {
      report.between_bytes += hole.bytes;
    } else {
      report.top_bytes += hole.bytes;
      (regions[hole.region].origin == 0 ? report.brk_top_bytes : report.tail_bytes) += hole.bytes;
    }
    if (hole.trimmable_bytes == 0) {
      ++report.small_hole_count;
      report.small_hole_bytes += hole.bytes;
    } else {
      report.page_part_bytes += hole.bytes - hole.trimmable_bytes;
    }
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
  AddPins(map, blocks, details, &report);
  AddArenas(map, regions, &report);
  return report;
}

}  // namespace heaptape
