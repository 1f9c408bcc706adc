#include "analysis/holes.h"

#include <vector>

#include "gtest/gtest.h"

namespace heaptape {
namespace {

// A heap of two survivors, and an mmapped block beside it:
//
//   lo 0x1000   tcache 0x290 | free 0x100 | A 0x20 | free 0x2000 | B 0x30 | top   hi 0x8000
class HolesTest : public testing::Test {
 protected:
  HolesReport Find(size_t details) {
    const absl::StatusOr<HeapMap> map = MapHeap(blocks_, regions_, own_, kGlibcLayout);
    EXPECT_TRUE(map.ok()) << map.status();
    return FindHoles(*map, blocks_, regions_, details);
  }

  const std::vector<HeapBlock> blocks_ = {
      {.address = 0x1390 + 16, .usable_bytes = 0x18, .requested_bytes = 20, .event = 7, .thread = 1},
      {.address = 0x33b0 + 16, .usable_bytes = 0x28, .requested_bytes = 40, .event = 9, .kind = EventKind::kCalloc},
      {.address = 0x90010, .usable_bytes = 0x20ff0, .requested_bytes = 0x20000, .event = 11},
  };
  const std::vector<HeapRegion> regions_ = {
      {.lo = 0x1000, .hi = 0x8000, .birth_event = 1, .origin = 0, .writable = true},
      {.lo = 0x90000, .hi = 0xb1000, .birth_event = 11, .origin = 4, .writable = true},
  };
  const std::vector<OwnBlock> own_ = {{0x1010, 0x288}};
};

TEST_F(HolesTest, Totals) {
  const HolesReport report = Find(10);
  EXPECT_EQ(report.hole_count, 3u);
  EXPECT_EQ(report.hole_bytes, 0x100u + 0x2000u + (0x8000u - 0x33e0u - 8));
  EXPECT_EQ(report.largest_hole_bytes, 0x8000u - 0x33e0u - 8);
  EXPECT_EQ(report.top_bytes, report.largest_hole_bytes);
  EXPECT_EQ(report.system_bytes, report.usable_bytes + report.overhead_bytes + report.hole_bytes);
  EXPECT_EQ(report.live_blocks, 3u);
  const std::vector<HoleClass> expected = {{256, 511, 1, 0x100}, {8192, 16383, 1, 0x2000}, {16384, 32767, 1, 19480}};
  EXPECT_EQ(report.histogram, expected);
}

TEST_F(HolesTest, EachHoleNamesWhatPinsIt) {
  const HolesReport report = Find(10);
  ASSERT_EQ(report.largest.size(), 3u);
  const HoleDetail& top = report.largest[0];
  EXPECT_EQ(top.pinned_by.kind, Neighbour::Kind::kRegionEnd);
  EXPECT_EQ(top.before.block.event, 9u);
  EXPECT_EQ(top.trimmable_bytes, 0x4000u);

  const HoleDetail& middle = report.largest[1];
  EXPECT_EQ(middle.bytes, 0x2000u);
  EXPECT_EQ(middle.offset, 0x13b8u - 0x1000u);
  EXPECT_EQ(middle.trimmable_bytes, 0x1000u);
  EXPECT_EQ(middle.before.block.event, 7u);
  EXPECT_EQ(middle.before.block.thread, 1u);
  EXPECT_EQ(middle.pinned_by.kind, Neighbour::Kind::kBlock);
  EXPECT_EQ(middle.pinned_by.block.event, 9u);
  EXPECT_EQ(middle.pinned_by.block.kind, EventKind::kCalloc);

  EXPECT_EQ(report.largest[2].before.kind, Neighbour::Kind::kAllocator);
  EXPECT_EQ(report.largest[2].pinned_by.block.event, 7u);
}

TEST_F(HolesTest, EveryByteHasALine) {
  const HolesReport report = Find(10);
  EXPECT_EQ(report.system_bytes, report.requested_bytes + report.slop_bytes + report.mapping_padding_bytes +
                                     report.overhead_bytes + report.between_bytes + report.brk_top_bytes +
                                     report.tail_bytes);
  EXPECT_EQ(report.slop_bytes, 4u);
  EXPECT_EQ(report.mapping_padding_bytes, 0xff0u);
  EXPECT_EQ(report.tail_bytes, 0u);
  EXPECT_EQ(report.hole_bytes, report.trimmable_bytes + report.page_part_bytes + report.small_hole_bytes);
  EXPECT_EQ(report.small_hole_count, 1u);

  ASSERT_EQ(report.arenas.size(), 2u);
  EXPECT_EQ(report.arenas[0].origin, 0u);
  EXPECT_EQ(report.arenas[0].live_blocks, 2u);
  EXPECT_EQ(report.arenas[0].hole_bytes, report.hole_bytes);
  EXPECT_TRUE(report.arenas[1].one_block);
  EXPECT_EQ(report.arenas[0].system_bytes + report.arenas[1].system_bytes, report.system_bytes);
}

TEST_F(HolesTest, WhoPinsTheMost) {
  const HolesReport report = Find(1);
  EXPECT_EQ(report.pin_count, 2u);
  ASSERT_EQ(report.pins.size(), 1u);
  EXPECT_EQ(report.pins[0].block.event, 9u);
  EXPECT_EQ(report.pins[0].held_bytes, 0x2000u);
  const std::vector<PinGroup> groups = {{0, 32, 63, 1, 0x2000, 9}, {1, 16, 31, 1, 0x100, 7}};
  EXPECT_EQ(report.pin_groups, groups);
}

TEST_F(HolesTest, OnlyAsManyDetailsAsAsked) {
  EXPECT_EQ(Find(0).largest.size(), 0u);
  const HolesReport report = Find(2);
  ASSERT_EQ(report.largest.size(), 2u);
  EXPECT_EQ(report.largest[1].bytes, 0x2000u);
  EXPECT_EQ(report.hole_count, 3u);
}

TEST(EmptyHolesTest, NoHeapNoHoles) {
  const HolesReport report = FindHoles(HeapMap(), {}, {}, 5);
  EXPECT_EQ(report.hole_count, 0u);
  EXPECT_TRUE(report.histogram.empty());
  EXPECT_TRUE(report.largest.empty());
}

}  // namespace
}  // namespace heaptape
