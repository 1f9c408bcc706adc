#include "analysis/replay_heap.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"

namespace heaptape {

absl::StatusOr<ReplayHeap> MapReplay(const ReplayResult& result) {
  ReplayHeap heap;
  heap.layout = result.settings.is_glibc ? kGlibcLayout : kUnknownLayout;
  heap.blocks.reserve(result.blocks.size());
  for (const LiveBlock& block : result.blocks) {
    heap.blocks.push_back({.address = block.address,
                           .usable_bytes = block.usable_bytes,
                           .requested_bytes = block.requested_bytes,
                           .event = block.event,
                           .thread = block.thread,
                           .kind = block.kind});
  }
  heap.regions.reserve(result.regions.size());
  for (const Region& region : result.regions) {
    heap.regions.push_back({.lo = region.lo,
                            .hi = region.hi,
                            .birth_event = region.birth_event,
                            .origin = region.origin,
                            .writable = region.writable != 0});
  }
  heap.own_blocks.reserve(result.own_blocks.size());
  for (const Slot& own : result.own_blocks) heap.own_blocks.push_back({own.address, own.usable_bytes});

  absl::StatusOr<HeapMap> map = MapHeap(heap.blocks, heap.regions, heap.own_blocks, heap.layout);
  if (!map.ok()) return map.status();
  if (map->system_bytes != result.system_bytes) {
    return absl::InternalError(absl::StrCat("the regions hold ", map->system_bytes, " bytes, the engine counted ",
                                            result.system_bytes));
  }
  heap.map = *std::move(map);
  return heap;
}

absl::StatusOr<HolesReport> FindHoles(const ReplayResult& result, size_t details) {
  const absl::StatusOr<ReplayHeap> heap = MapReplay(result);
  if (!heap.ok()) return heap.status();
  HolesReport report = FindHoles(heap->map, heap->blocks, heap->regions, details);
  report.at_event = result.events_done;
  report.digest = DigestText(result.digest);
  if (result.settings.is_glibc) report.thread_cache_bytes = std::min(result.thread_cache_bytes, report.hole_bytes);
  return report;
}

std::string DigestText(uint64_t digest) { return absl::StrFormat("%016x", digest); }

}  // namespace heaptape
