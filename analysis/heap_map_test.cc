#include "analysis/heap_map.h"

#include <map>
#include <random>
#include <vector>

#include "gtest/gtest.h"

namespace heaptape {
namespace {

constexpr uint64_t kHeap = 0x555000;

// glibc's chunk of `bytes` at `chunk`, as the block that a program sees.
HeapBlock Chunk(uint64_t chunk, uint64_t bytes) {
  return {.address = chunk + 16, .usable_bytes = bytes - 8, .requested_bytes = bytes - 10};
}

HeapRegion Writable(uint64_t lo, uint64_t bytes, uint32_t origin = 0) {
  return {.lo = lo, .hi = lo + bytes, .origin = origin, .writable = true};
}

HeapMap Map(const std::vector<HeapBlock>& blocks, const std::vector<HeapRegion>& regions,
            const std::vector<OwnBlock>& own = {}, const BlockLayout& layout = kGlibcLayout) {
  const absl::StatusOr<HeapMap> map = MapHeap(blocks, regions, own, layout);
  EXPECT_TRUE(map.ok()) << map.status();
  if (!map.ok()) return {};
  EXPECT_EQ(map->system_bytes, map->usable_bytes + map->overhead_bytes + map->hole_bytes);
  uint64_t holes = 0;
  uint64_t trimmable = 0;
  for (const Hole& hole : map->holes) {
    holes += hole.bytes;
    trimmable += hole.trimmable_bytes;
    EXPECT_GE(hole.bytes, layout.min_block_bytes);
  }
  EXPECT_EQ(holes, map->hole_bytes);
  EXPECT_EQ(trimmable, map->trimmable_bytes);
  return *map;
}

TEST(HeapMapTest, BlocksSideBySideLeaveHeadersAndTheTop) {
  const HeapMap map = Map({Chunk(kHeap, 0x40), Chunk(kHeap + 0x40, 0x20)}, {Writable(kHeap, 0x21000)});
  EXPECT_EQ(map.system_bytes, 0x21000u);
  EXPECT_EQ(map.usable_bytes, 0x38u + 0x18u);
  EXPECT_EQ(map.overhead_bytes, 16u + 8u);
  ASSERT_EQ(map.holes.size(), 1u);
  EXPECT_EQ(map.holes[0].bytes, 0x21000u - 0x60 - 8);
  EXPECT_EQ(map.holes[0].before, 1);
  EXPECT_EQ(map.holes[0].after, Hole::kRegionEnd);
  EXPECT_EQ(map.live_blocks, 2u);
  EXPECT_EQ(map.slop_bytes(), 4u);
}

TEST(HeapMapTest, AFreeChunkIsAHoleOfItsOwnSize) {
  for (const uint64_t free : {0x20u, 0x30u, 0x5000u}) {
    const HeapMap map = Map({Chunk(kHeap, 0x40), Chunk(kHeap + 0x40 + free, 0xfc0 - free % 0x1000)},
                            {Writable(kHeap, 0x7000)});
    ASSERT_FALSE(map.holes.empty());
    EXPECT_EQ(map.holes[0].bytes, free);
    EXPECT_EQ(map.holes[0].address, kHeap + 0x48);
    EXPECT_EQ(map.holes[0].before, 0);
    EXPECT_EQ(map.holes[0].after, 1);
  }
}

TEST(HeapMapTest, AFreeChunkAtTheStartOfARegion) {
  const HeapMap map = Map({Chunk(kHeap + 0x50, 0x1f80)}, {Writable(kHeap, 0x2000)});
  ASSERT_EQ(map.holes.size(), 2u);
  EXPECT_EQ(map.holes[0].bytes, 0x50u);
  EXPECT_EQ(map.holes[0].before, Hole::kRegionEnd);
  EXPECT_EQ(map.holes[1].bytes, 0x28u);
  EXPECT_EQ(map.overhead_bytes, 16u);
}

TEST(HeapMapTest, TrimmableIsWholePagesBehindTheFreeChunksHeader) {
  // A chunk from 0x...000 to three pages on: its header keeps the first page.
  HeapMap map = Map({Chunk(kHeap, 0x1000), Chunk(kHeap + 0x4000, 0x1000 - 8)}, {Writable(kHeap, 0x5000)});
  ASSERT_EQ(map.holes.size(), 1u);
  EXPECT_EQ(map.holes[0].bytes, 0x3000u);
  EXPECT_EQ(map.trimmable_bytes, 0x2000u);
  // One that spans less than a page with its middle.
  map = Map({Chunk(kHeap, 0x800), Chunk(kHeap + 0x1810, 0x7f0 - 8)}, {Writable(kHeap, 0x2000)});
  EXPECT_EQ(map.trimmable_bytes, 0u);
}

TEST(HeapMapTest, AnMmappedBlockHasNoHoles) {
  const HeapBlock block = {.address = 0x7f0000000010, .usable_bytes = 0x20ff0, .requested_bytes = 0x20000};
  HeapMap map = Map({block}, {Writable(0x7f0000000000, 0x21000, 3)});
  EXPECT_EQ(map.overhead_bytes, 16u);
  EXPECT_TRUE(map.holes.empty());
  // memalign: what alignment skipped can serve nobody.
  const HeapBlock aligned = {.address = 0x7f0000010000, .usable_bytes = 0x11000, .requested_bytes = 0x11000};
  map = Map({aligned}, {Writable(0x7f0000000000, 0x21000, 3)});
  EXPECT_EQ(map.overhead_bytes, 0x10000u);
  EXPECT_TRUE(map.holes.empty());
}

TEST(HeapMapTest, TheAllocatorsOwnBlocksAreOverheadAndPin) {
  // An arena heap: its head, a tcache, a free chunk, a tcache of another thread.
  const HeapMap map = Map({}, {Writable(0x7f00000000, 0x21000, 1), {.lo = 0x7f00021000, .hi = 0x7f04000000, .origin = 1}},
                          {{0x7f00000000, 0x8d0}, {0x7f000008e0, 0x288}, {0x7f00000c00, 0x288}});
  ASSERT_EQ(map.holes.size(), 2u);
  EXPECT_EQ(map.system_bytes, 0x21000u);
  EXPECT_EQ(map.holes[0].bytes, 0xc00u - 0x8e0 - 0x290);
  EXPECT_EQ(map.holes[0].before, Hole::kAllocator);
  EXPECT_EQ(map.holes[0].after, Hole::kAllocator);
  EXPECT_EQ(map.overhead_bytes, 0x8d0u + 16 + 0x288 + 8 + 0x288);
  EXPECT_EQ(map.usable_bytes, 0u);
}

TEST(HeapMapTest, AHeapWithNothingLeftInIt) {
  const HeapMap map = Map({}, {Writable(kHeap, 0x21000)});
  ASSERT_EQ(map.holes.size(), 1u);
  EXPECT_EQ(map.holes[0].bytes, 0x21000u);
  EXPECT_EQ(map.trimmable_bytes, 0x20000u);
}

TEST(HeapMapTest, PiecesOfOneMappingAreOneRegionThoseOfTwoAreNot) {
  const HeapBlock across = {.address = 0xff0, .usable_bytes = 0x20, .requested_bytes = 0x20};
  HeapMap map = Map({across}, {Writable(0, 0x1000, 1), Writable(0x1000, 0x1000, 1)}, {}, kUnknownLayout);
  EXPECT_EQ(map.holes.size(), 2u);
  EXPECT_EQ(map.holes[1].region, 0u);
  // A block may lie across two mappings that touch; holes end where mappings do.
  map = Map({across}, {Writable(0, 0x1000, 1), Writable(0x1000, 0x1000, 2), Writable(0x2000, 0x1000, 3)}, {},
            kUnknownLayout);
  EXPECT_EQ(map.usable_bytes, 0x20u);
  ASSERT_EQ(map.holes.size(), 3u);
  EXPECT_EQ(map.holes[1].bytes, 0xff0u);
  EXPECT_EQ(map.holes[1].before, 0);
  EXPECT_EQ(map.holes[2].before, Hole::kRegionEnd);
  EXPECT_EQ(map.outside_bytes, 0u);
}

TEST(HeapMapTest, BlocksOutsideAllRegionsAreCountedApart) {
  const std::vector<HeapBlock> blocks = {{.address = 0x500, .usable_bytes = 0x10},
                                         {.address = 0xff0, .usable_bytes = 0x20},
                                         {.address = 0x1ff0, .usable_bytes = 0x30},
                                         {.address = 0x9000, .usable_bytes = 0x100}};
  const HeapMap map = Map(blocks, {{.lo = 0, .hi = 0x1000}, Writable(0x1000, 0x1000, 2)}, {}, kUnknownLayout);
  EXPECT_EQ(map.usable_bytes, 0x10u + 0x10u);
  EXPECT_EQ(map.outside_bytes, 0x10u + 0x10u + 0x20u + 0x100u);
}

TEST(HeapMapTest, OverlapsAreErrors) {
  EXPECT_EQ(MapHeap({{.address = 16, .usable_bytes = 100}, {.address = 100, .usable_bytes = 8}}, {}, {}, kGlibcLayout)
                .status()
                .code(),
            absl::StatusCode::kInternal);
  EXPECT_EQ(MapHeap({}, {Writable(0, 0x2000), Writable(0x1000, 0x1000)}, {}, kGlibcLayout).status().code(),
            absl::StatusCode::kInternal);
}

// Heaps of chunks that are free or not at random: what glibc would say of them is
// computed chunk by chunk.
TEST(HeapMapTest, RandomHeapsAddUp) {
  std::mt19937_64 random(3);
  for (int round = 0; round < 300; ++round) {
    std::vector<HeapBlock> blocks;
    std::vector<HeapRegion> regions;
    std::vector<OwnBlock> own;
    uint64_t usable = 0;
    uint64_t free = 0;
    uint64_t count = 0;
    uint64_t lo = 0x10000;
    const size_t heaps = 1 + random() % 5;
    for (uint32_t heap = 0; heap < heaps; ++heap) {
      uint64_t chunk = lo;
      bool was_free = false;
      bool used = false;
      const size_t chunks = random() % 200;
      for (size_t i = 0; i < chunks; ++i) {
        const uint64_t bytes = 32 + 16 * (random() % (random() % 8 == 0 ? 2000 : 20));
        if (random() % 3 == 0) {
          free += bytes;
          count += was_free ? 0 : 1;  // neighbours merge
          was_free = true;
        } else {
          was_free = false;
          used = true;
          if (random() % 20 == 0) {
            own.push_back({chunk + 16, bytes - 8});
          } else {
            blocks.push_back(Chunk(chunk, bytes));
            usable += bytes - 8;
          }
        }
        chunk += bytes;
      }
      // The top: at least 32 bytes, to the end of a page. It merges with a free chunk.
      const uint64_t hi = (chunk + 32 + 4095) / 4096 * 4096;
      const uint64_t top = hi - chunk - (used ? 8 : 0);
      if (was_free || top >= 32) free += top;
      if (!was_free && top >= 32) ++count;
      regions.push_back(Writable(lo, hi - lo, heap));
      lo = hi + 4096 * (random() % 3);
    }
    if (round % 2 == 0) std::shuffle(blocks.begin(), blocks.end(), random);
    const HeapMap map = Map(blocks, regions, own);
    EXPECT_EQ(map.usable_bytes, usable) << round;
    EXPECT_EQ(map.hole_bytes, free) << round;
    EXPECT_EQ(map.holes.size(), count) << round;
    EXPECT_EQ(map.outside_bytes, 0u);
  }
}

// Any blocks in any regions: the totals add up whatever the layout.
TEST(HeapMapTest, ArbitraryHeapsAddUp) {
  std::mt19937_64 random(4);
  for (int round = 0; round < 500; ++round) {
    std::vector<HeapBlock> blocks;
    std::vector<HeapRegion> regions;
    uint64_t at = 0;
    uint64_t usable = 0;
    while (blocks.size() < 100) {
      at += random() % 3 == 0 ? random() % 3000 : random() % 20;
      blocks.push_back({.address = at, .usable_bytes = random() % 500});
      at += blocks.back().usable_bytes;
      usable += blocks.back().usable_bytes;
    }
    for (uint64_t lo = random() % 1000; lo < at;) {
      const uint64_t hi = lo + random() % 9000;
      regions.push_back({.lo = lo, .hi = hi, .origin = static_cast<uint32_t>(random() % 3), .writable = random() % 4 != 0});
      lo = hi + (random() % 2 == 0 ? 0 : random() % 500);
    }
    const HeapMap map = Map(blocks, regions, {}, round % 2 == 0 ? kGlibcLayout : kUnknownLayout);
    EXPECT_EQ(map.usable_bytes + map.outside_bytes, usable) << round;
  }
}

}  // namespace
}  // namespace heaptape
