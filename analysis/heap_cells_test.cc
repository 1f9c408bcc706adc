#include "analysis/heap_cells.h"

#include "gtest/gtest.h"

namespace heaptape {
namespace {

TEST(HeapCellsTest, EveryByteIsInACellAndMappingsShareAStrip) {
  const std::vector<HeapBlock> blocks = {
      {.address = 0x10010, .usable_bytes = 0x1000 - 16, .requested_bytes = 1},
      {.address = 0x15000, .usable_bytes = 0x3000, .requested_bytes = 1},
      {.address = 0x80010, .usable_bytes = 0xff0, .requested_bytes = 1},
      {.address = 0x90010, .usable_bytes = 0xff0, .requested_bytes = 1},
  };
  const std::vector<HeapRegion> regions = {{.lo = 0x10000, .hi = 0x20000, .writable = true},
                                           {.lo = 0x80000, .hi = 0x81000, .origin = 1, .writable = true},
                                           {.lo = 0x90000, .hi = 0x91000, .origin = 2, .writable = true}};
  const auto map = MapHeap(blocks, regions, {}, kGlibcLayout);
  ASSERT_TRUE(map.ok());
  for (size_t wanted : {1u, 5u, 18u, 1000u}) {
    const HeapCells cells = DivideHeap(*map, blocks, regions, wanted);
    ASSERT_EQ(cells.strips.size(), 2u);
    EXPECT_EQ(cells.strips[0].bytes, 0x10000u);
    EXPECT_TRUE(cells.strips[1].one_block);
    EXPECT_EQ(cells.strips[1].bytes, 0x2000u);
    uint64_t live = 0;
    uint64_t holes = 0;
    size_t count = 0;
    for (const HeapStrip& strip : cells.strips) {
      for (const HeapCell& cell : strip.cells) {
        live += cell.live_bytes;
        holes += cell.hole_bytes;
        ++count;
      }
    }
    EXPECT_EQ(live, map->usable_bytes);
    EXPECT_EQ(holes, map->hole_bytes);
    EXPECT_LE(count, wanted + 2);
  }
  const HeapCells cells = DivideHeap(*map, blocks, regions, 1000);
  EXPECT_EQ(cells.strips[0].cells[6].block, 1u);
  EXPECT_EQ(cells.strips[0].cells[6].hole, HeapCell::kNone);
  EXPECT_EQ(cells.strips[0].cells[2].hole, 0u);
}

TEST(HeapCellsTest, AnEmptyHeapHasNone) { EXPECT_TRUE(DivideHeap(HeapMap(), {}, {}, 100).strips.empty()); }

}  // namespace
}  // namespace heaptape
