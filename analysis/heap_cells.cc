#include "analysis/heap_cells.h"

#include <algorithm>
#include <map>
#include <utility>

namespace heaptape {
namespace {

// [lo, lo + bytes) of address space, at `at` in its strip.
void Fill(uint64_t at, uint64_t bytes, uint64_t cell_bytes, HeapStrip* strip, size_t index, bool is_block,
          const std::vector<uint64_t>& sizes) {
  for (uint64_t from = at; from < at + bytes;) {
    const size_t number = from / cell_bytes;
    if (number >= strip->cells.size()) return;
    HeapCell& cell = strip->cells[number];
    const uint64_t to = std::min(at + bytes, (number + 1) * cell_bytes);
    (is_block ? cell.live_bytes : cell.hole_bytes) += to - from;
    size_t& largest = is_block ? cell.block : cell.hole;
    if (largest == HeapCell::kNone || sizes[index] > sizes[largest]) largest = index;
    from = to;
  }
}

}  // namespace

HeapCells DivideHeap(const HeapMap& map, const std::vector<HeapBlock>& blocks, const std::vector<HeapRegion>& regions,
                     size_t cells) {
  HeapCells divided;
  const uint64_t wanted = map.system_bytes / std::max<size_t>(cells, 1) + 1;
  divided.cell_bytes = (wanted + kMapPageBytes - 1) / kMapPageBytes * kMapPageBytes;

  std::vector<uint64_t> block_sizes;
  std::vector<size_t> by_address;
  for (const HeapBlock& block : blocks) {
    by_address.push_back(block_sizes.size());
    block_sizes.push_back(block.usable_bytes);
  }
  std::stable_sort(by_address.begin(), by_address.end(),
                   [&](size_t a, size_t b) { return blocks[a].address < blocks[b].address; });
  std::vector<uint64_t> hole_sizes;
  for (const Hole& hole : map.holes) hole_sizes.push_back(hole.bytes);

  // Strips by origin, mappings of single blocks last.
  std::map<std::pair<bool, uint32_t>, size_t> strip_of;
  for (const RegionTotals& region : map.regions) {
    strip_of[{region.one_block, region.one_block ? 0 : regions[region.region].origin}] = 0;
  }
  for (auto& [key, number] : strip_of) {
    number = divided.strips.size();
    divided.strips.push_back({.origin = key.second, .one_block = key.first, .bytes = 0, .cells = {}});
  }
  size_t block = 0;
  size_t hole = 0;
  for (const RegionTotals& region : map.regions) {
    const uint64_t lo = regions[region.region].lo;
    const uint64_t hi = lo + region.system_bytes;
    HeapStrip& strip = divided.strips[strip_of[{region.one_block, region.one_block ? 0 : regions[region.region].origin}]];
    const uint64_t at = strip.bytes;
    strip.bytes += region.system_bytes;
    strip.cells.resize((strip.bytes + divided.cell_bytes - 1) / divided.cell_bytes);
    while (block < by_address.size() && blocks[by_address[block]].address < lo) ++block;
    for (; block < by_address.size() && blocks[by_address[block]].address < hi; ++block) {
      const HeapBlock& live = blocks[by_address[block]];
      Fill(at + live.address - lo, live.usable_bytes, divided.cell_bytes, &strip, by_address[block], true, block_sizes);
    }
    while (hole < map.holes.size() && map.holes[hole].address < lo) ++hole;
    for (; hole < map.holes.size() && map.holes[hole].address < hi; ++hole) {
      Fill(at + map.holes[hole].address - lo, map.holes[hole].bytes, divided.cell_bytes, &strip, hole, false, hole_sizes);
    }
  }
  return divided;
}

}  // namespace heaptape
