#include "analysis/room.h"

#include <vector>

#include "gtest/gtest.h"

namespace heaptape {
namespace {

// A glibc heap out of chunks, laid one behind the other from 0x10000 on.
class Heap {
 public:
  // A chunk whose block was asked for with `size` bytes.
  Heap& Live(uint64_t size) {
    const uint64_t chunk = BytesLookedFor(kGlibcLayout, {.bytes = size});
    blocks_.push_back({.address = at_ + 16, .usable_bytes = chunk - 8, .requested_bytes = size,
                       .event = blocks_.size() + 1});
    at_ += chunk;
    return *this;
  }
  Heap& Free(uint64_t chunk) {
    at_ += chunk;
    return *this;
  }
  RoomReport Find(const RoomRequest& request, size_t kept = 10) {
    const HeapRegion region = {.lo = 0x10000, .hi = (at_ + 4095) / 4096 * 4096, .writable = true};
    const auto map = MapHeap(blocks_, {&region, 1}, {}, kGlibcLayout);
    EXPECT_TRUE(map.ok()) << map.status();
    return FindRoom(*map, blocks_, {region}, kGlibcLayout, request, kept);
  }

 private:
  uint64_t at_ = 0x10000;
  std::vector<HeapBlock> blocks_;
};

TEST(RoomTest, LooksForWhatGlibcLooksFor) {
  EXPECT_EQ(BytesLookedFor(kGlibcLayout, {.bytes = 0}), 32u);
  EXPECT_EQ(BytesLookedFor(kGlibcLayout, {.bytes = 24}), 32u);
  EXPECT_EQ(BytesLookedFor(kGlibcLayout, {.bytes = 25}), 48u);
  EXPECT_EQ(BytesLookedFor(kGlibcLayout, {.bytes = 8880819}), 8880832u);
  EXPECT_EQ(BytesLookedFor(kGlibcLayout, {.bytes = 100, .alignment_log2 = 6}), 112u + 64 + 32);
  EXPECT_EQ(BytesLookedFor(kUnknownLayout, {.bytes = 25}), 25u);
}

// A buffer of 8,880,467 bytes is gone; the block placed 13 bytes behind it is not.
TEST(RoomTest, AHoleIsShortOfARequestByBytes) {
  Heap heap;
  heap.Live(100).Free(8'880'480).Live(232).Free(2'000'000).Live(24);
  const RoomReport report = heap.Find({.bytes = 8'880'819});
  EXPECT_EQ(report.fitting_count, 0u);
  EXPECT_EQ(report.power_of_two, 8u << 20);
  EXPECT_EQ(report.power_count, 1u);
  EXPECT_EQ(report.eighth_count, 2u);
  ASSERT_EQ(report.nearest.size(), 3u);
  EXPECT_EQ(report.nearest[0].bytes, 8'880'480u);
  EXPECT_EQ(report.nearest[0].missing_bytes, 339u);
  EXPECT_EQ(report.nearest[0].pinned_by, 1);
  EXPECT_EQ(report.nearest[1].missing_bytes, 6'880'819u);
  EXPECT_EQ(report.nearest[2].kind, Room::Kind::kEnd);
}

// The block that is to grow may lie in the very place that is too short.
TEST(RoomTest, ABlockMayGrowIntoTheHoleBehindIt) {
  Heap heap;
  heap.Live(100).Live(8'000'925).Free(8'880'480 - 8'000'944).Live(232);
  const RoomReport report = heap.Find({.bytes = 8'880'819, .old_block = 1}, 1);
  ASSERT_EQ(report.nearest.size(), 1u);
  EXPECT_EQ(report.nearest[0].kind, Room::Kind::kInPlace);
  EXPECT_EQ(report.nearest[0].bytes, 8'880'480u);
  EXPECT_EQ(report.nearest[0].missing_bytes, 339u);
  EXPECT_EQ(report.nearest[0].pinned_by, 2);
}

TEST(RoomTest, RoomElsewhereIsToldApart) {
  Heap heap;
  heap.Live(100).Free(1024).Live(24);
  const RoomReport report = heap.Find({.bytes = 500, .origin = 3});
  EXPECT_EQ(report.fitting_count, report.fitting_elsewhere_count);
  EXPECT_TRUE(report.nearest[0].elsewhere);
}

TEST(RoomTest, RoundingAloneMayDecide) {
  Heap heap;
  heap.Live(100).Free(1024).Live(24);
  EXPECT_EQ(heap.Find({.bytes = 1016}).nearest[0].missing_bytes, 0u);
  // 1020 bytes would fit into 1024, were it not for the header.
  const RoomReport report = heap.Find({.bytes = 1020});
  EXPECT_EQ(report.nearest[0].missing_bytes, 16u);
  // What is free up to the end of the page would do.
  EXPECT_EQ(report.nearest[1].kind, Room::Kind::kEnd);
  EXPECT_EQ(report.fitting_count, 1u);
}

}  // namespace
}  // namespace heaptape
