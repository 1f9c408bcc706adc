#include "analysis/holes_json.h"

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
  };
}

}  // namespace heaptape
