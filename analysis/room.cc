#include "analysis/room.h"

#include <algorithm>
#include <bit>
#include <tuple>

namespace heaptape {
namespace {

// Rounding of sizes in glibc, and what a block that is split must leave behind.
constexpr uint64_t kUnit = 16;

}  // namespace

uint64_t BytesLookedFor(const BlockLayout& layout, const RoomRequest& request) {
  if (layout.header_bytes == 0) return request.bytes;
  uint64_t bytes = (request.bytes + layout.header_bytes + kUnit - 1) / kUnit * kUnit;
  bytes = std::max(bytes, layout.min_block_bytes);
  const uint64_t alignment = uint64_t{1} << request.alignment_log2;
  if (alignment > kUnit) bytes += alignment + layout.min_block_bytes;
  return bytes;
}

RoomReport FindRoom(const HeapMap& map, const std::vector<HeapBlock>& blocks, const std::vector<HeapRegion>& regions,
                    const BlockLayout& layout, const RoomRequest& request, size_t kept) {
  RoomReport report;
  report.hole_count = map.holes.size();
  report.hole_bytes = map.hole_bytes;
  report.power_of_two = std::bit_floor(request.bytes);
  const uint64_t wanted = BytesLookedFor(layout, request);
  const auto missing = [&](uint64_t room) {
    // Of bytes that were asked for; of the allocator's own count where rounding alone decides.
    if (room >= wanted) return uint64_t{0};
    return room < request.bytes ? request.bytes - room : wanted - room;
  };

  for (const Hole& hole : map.holes) {
    if (hole.bytes >= report.power_of_two / 8) ++report.eighth_count;
    if (hole.bytes >= report.power_of_two) ++report.power_count;
    Room room = {.kind = Room::Kind::kHole,
                 .address = hole.address,
                 .bytes = hole.bytes,
                 .missing_bytes = 0,
                 .region = hole.region,
                 .elsewhere = regions[hole.region].origin != request.origin,
                 .before = hole.before,
                 .pinned_by = hole.after};
    if (hole.after == Hole::kRegionEnd) {
      room.kind = Room::Kind::kEnd;
      // glibc always leaves a smallest chunk at the top.
      const uint64_t kept_back = layout.header_bytes == 0 ? 0 : layout.min_block_bytes - layout.header_bytes;
      room.bytes -= std::min(room.bytes, kept_back);
    } else if (request.old_block != RoomRequest::kNoBlock &&
               hole.before == static_cast<ptrdiff_t>(request.old_block)) {
      const HeapBlock& block = blocks[request.old_block];
      room.kind = Room::Kind::kInPlace;
      room.address = block.address;
      room.bytes += block.usable_bytes + layout.header_bytes;
      room.before = Hole::kRegionEnd;
    }
    room.missing_bytes = missing(room.bytes);
    if (room.missing_bytes == 0) {
      ++report.fitting_count;
      if (room.elsewhere) ++report.fitting_elsewhere_count;
    }
    report.nearest.push_back(room);
  }
  const auto nearer = [](const Room& a, const Room& b) {
    const bool a_end = a.kind == Room::Kind::kEnd;
    const bool b_end = b.kind == Room::Kind::kEnd;
    return std::tie(a_end, a.elsewhere, a.missing_bytes, a.address) <
           std::tie(b_end, b.elsewhere, b.missing_bytes, b.address);
  };
  const auto end = report.nearest.begin() + static_cast<ptrdiff_t>(std::min(kept, report.nearest.size()));
  std::partial_sort(report.nearest.begin(), end, report.nearest.end(), nearer);
  report.nearest.erase(end, report.nearest.end());
  return report;
}

}  // namespace heaptape
