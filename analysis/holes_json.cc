#include "analysis/holes_json.h"

#include <algorithm>

#include "analysis/holes_text.h"

namespace heaptape {

using nlohmann::ordered_json;

ordered_json NeighbourJson(const Neighbour& neighbour) {
  switch (neighbour.kind) {
    case Neighbour::Kind::kRegionEnd: return nullptr;
    case Neighbour::Kind::kAllocator:
      return {{"event", nullptr}, {"call", "allocator's own"}, {"requested_bytes", nullptr}, {"thread", nullptr}};
    case Neighbour::Kind::kBlock: break;
  }
  const HeapBlock& block = neighbour.block;
  return {{"event", block.event},
          {"call", EventName(block.kind)},
          {"requested_bytes", block.requested_bytes},
          {"thread", block.thread}};
}

ordered_json HolesJson(const HolesReport& report) {
  ordered_json histogram = ordered_json::array();
  for (const HoleClass& hole_class : report.histogram) {
    histogram.push_back({{"min_bytes", hole_class.min_bytes},
                         {"max_bytes", hole_class.max_bytes},
                         {"count", hole_class.count},
                         {"bytes", hole_class.bytes}});
  }
  ordered_json holes = ordered_json::array();
  for (const HoleDetail& hole : report.largest) {
    holes.push_back({{"region", RegionName(hole.origin)},
                     {"offset", hole.offset},
                     {"bytes", hole.bytes},
                     {"trimmable_bytes", hole.trimmable_bytes},
                     {"before", NeighbourJson(hole.before)},
                     {"pinned_by", NeighbourJson(hole.pinned_by)}});
  }
  ordered_json pins = ordered_json::array();
  for (const Pin& pin : report.pins) {
    pins.push_back(NeighbourJson({.kind = Neighbour::Kind::kBlock, .block = pin.block}));
    pins.back()["held_bytes"] = pin.held_bytes;
    pins.back()["trimmable_bytes"] = pin.trimmable_bytes;
    pins.back()["age_events"] = report.at_event - std::min(pin.block.event, report.at_event);
  }
  ordered_json groups = ordered_json::array();
  for (const PinGroup& group : report.pin_groups) {
    groups.push_back({{"thread", group.thread},
                      {"min_bytes", group.min_bytes},
                      {"max_bytes", group.max_bytes},
                      {"count", group.count},
                      {"held_bytes", group.held_bytes},
                      {"median_event", group.median_event}});
  }
  ordered_json arenas = ordered_json::array();
  for (const ArenaTotals& arena : report.arenas) {
    arenas.push_back({{"region", arena.one_block ? "mappings of single blocks" : RegionName(arena.origin)},
                      {"regions", arena.regions},
                      {"system_bytes", arena.system_bytes},
                      {"live_blocks", arena.live_blocks},
                      {"usable_bytes", arena.usable_bytes},
                      {"overhead_bytes", arena.overhead_bytes},
                      {"hole_count", arena.hole_count},
                      {"hole_bytes", arena.hole_bytes},
                      {"trimmable_bytes", arena.trimmable_bytes}});
  }
  ordered_json trim;
  if (report.trim.has_value()) {
    trim = {{"estimated_bytes", report.trimmable_bytes},
            {"returned_bytes", report.trim->returned_bytes()},
            {"resident_bytes_before", report.trim->resident_bytes_before},
            {"resident_bytes_after", report.trim->resident_bytes_after},
            {"system_bytes_before", report.trim->system_bytes_before},
            {"system_bytes_after", report.trim->system_bytes_after}};
  }
  return {
      {"at_event", report.at_event},
      {"requested_bytes", report.requested_bytes},
      {"usable_bytes", report.usable_bytes},
      {"overhead_bytes", report.overhead_bytes},
      {"system_bytes", report.system_bytes},
      {"hole_bytes", report.hole_bytes},
      {"trimmable_bytes", report.trimmable_bytes},
      {"hole_count", report.hole_count},
      {"largest_hole_bytes", report.largest_hole_bytes},
      {"live_blocks", report.live_blocks},
      {"digest", report.digest.empty() ? ordered_json() : ordered_json(report.digest)},
      {"histogram", histogram},
      {"holes", holes},
      {"slop_bytes", report.slop_bytes},
      {"mapping_padding_bytes", report.mapping_padding_bytes},
      {"classes",
       {{"between_blocks_bytes", report.between_bytes},
        {"top_of_heap_bytes", report.brk_top_bytes},
        {"arena_tail_bytes", report.tail_bytes},
        {"thread_cache_bytes", report.thread_cache_bytes.has_value() ? ordered_json(*report.thread_cache_bytes)
                                                                     : ordered_json()}}},
      {"survives_trim",
       {{"page_part_bytes", report.page_part_bytes},
        {"small_hole_bytes", report.small_hole_bytes},
        {"small_hole_count", report.small_hole_count}}},
      {"trim", trim},
      {"pin_count", report.pin_count},
      {"pins", pins},
      {"pin_groups", groups},
      {"regions", arenas},
  };
}

}  // namespace heaptape
