// The map that is made of live blocks alone, against a walk over glibc's own chunk
// headers in the heap that it is a map of.

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "analysis/heap_map.h"
#include "gtest/gtest.h"

namespace heaptape {
namespace {

struct Walk {
  HeapRegion region;
  std::vector<HeapBlock> blocks;
  std::vector<OwnBlock> own;
  std::vector<std::pair<uint64_t, uint64_t>> holes;  // address, bytes
};

Walk WalkHeap(int seed) {
  Walk walk;
  std::set<uint64_t> live;
  const std::string command = "GLIBC_TUNABLES=glibc.malloc.tcache_count=0:glibc.malloc.mxfast=0 analysis/chunk_walk " +
                              std::to_string(seed);
  FILE* lines = popen(command.c_str(), "r");
  EXPECT_NE(lines, nullptr);
  char what[16];
  uint64_t address = 0;
  uint64_t bytes = 0;
  while (std::fscanf(lines, "%15s %lu %lu", what, &address, &bytes) == 3) {
    const std::string kind = what;
    if (kind == "region") walk.region = {.lo = address, .hi = bytes, .writable = true};
    if (kind == "block") {
      uint64_t requested = 0;
      EXPECT_EQ(std::fscanf(lines, "%lu", &requested), 1);
      walk.blocks.push_back({.address = address, .usable_bytes = bytes, .requested_bytes = requested});
      live.insert(address);
    }
    // A block begins 16 bytes behind its chunk, and may use the first 8 of the next.
    if (kind == "used" && live.count(address + 16) == 0) walk.own.push_back({address + 16, bytes - 8});
    if (kind == "free") walk.holes.push_back({address + 8, bytes});
    if (kind == "top") walk.holes.push_back({address + 8, bytes - 8});
  }
  EXPECT_EQ(pclose(lines), 0);
  return walk;
}

TEST(ChunkWalkTest, HolesAreTheFreeChunks) {
  for (int seed = 1; seed <= 8; ++seed) {
    const Walk walk = WalkHeap(seed);
    ASSERT_GT(walk.holes.size(), 100u);
    const absl::StatusOr<HeapMap> map = MapHeap(walk.blocks, {&walk.region, 1}, walk.own, kGlibcLayout);
    ASSERT_TRUE(map.ok()) << map.status();
    std::vector<std::pair<uint64_t, uint64_t>> holes;
    for (const Hole& hole : map->holes) holes.emplace_back(hole.address, hole.bytes);
    EXPECT_EQ(holes, walk.holes) << "seed " << seed;
    EXPECT_EQ(map->system_bytes, walk.region.hi - walk.region.lo);
  }
}

}  // namespace
}  // namespace heaptape
