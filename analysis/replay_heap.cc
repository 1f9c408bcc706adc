#include "analysis/replay_heap.h"

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"

namespace heaptape {

absl::StatusOr<HolesReport> FindHoles(const ReplayResult& result, size_t details) {
  std::vector<HeapBlock> blocks;
  blocks.reserve(result.blocks.size());
  for (const LiveBlock& block : result.blocks) {
    blocks.push_back({.address = block.address,
                      .usable_bytes = block.usable_bytes,
                      .requested_bytes = block.requested_bytes,
                      .event = block.event,
                      .thread = block.thread,
                      .kind = block.kind});
  }
  std::vector<HeapRegion> regions;
  regions.reserve(result.regions.size());
  for (const Region& region : result.regions) {
    regions.push_back({.lo = region.lo,
                       .hi = region.hi,
                       .birth_event = region.birth_event,
                       .origin = region.origin,
                       .writable = region.writable != 0});
  }
  std::vector<OwnBlock> own_blocks;
  own_blocks.reserve(result.own_blocks.size());
  for (const Slot& own : result.own_blocks) own_blocks.push_back({own.address, own.usable_bytes});

  const absl::StatusOr<HeapMap> map =
      MapHeap(blocks, regions, own_blocks, result.settings.is_glibc ? kGlibcLayout : kUnknownLayout);
  if (!map.ok()) return map.status();
  if (map->system_bytes != result.system_bytes) {
    return absl::InternalError(absl::StrCat("the regions hold ", map->system_bytes, " bytes, the engine counted ",
                                            result.system_bytes));
  }
  HolesReport report = FindHoles(*map, blocks, regions, details);
  report.at_event = result.events_done;
  report.digest = DigestText(result);
  return report;
}

std::string DigestText(const ReplayResult& result) { return absl::StrFormat("%016x", result.digest); }

}  // namespace heaptape
