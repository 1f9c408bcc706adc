#include "analysis/recommendation.h"

#include <string>
#include <utility>

#include "absl/strings/match.h"
#include "gtest/gtest.h"

namespace heaptape {
namespace {

constexpr uint64_t kMB = 1'000'000;

// A sweep whose recorded settings hold 300 MB at the end of 310 at the peak, 10 of
// them live.
class RecommendationTest : public testing::Test {
 protected:
  RecommendationTest() {
    sweep_.recorded.settings.touch = Touch::kPages;
    sweep_.facts.requested_bytes = sweep_.facts.half_requested_bytes = 10 * kMB;
    sweep_.facts.peak_requested_bytes = 200 * kMB;
    sweep_.facts.system_bytes = 300 * kMB;
    sweep_.facts.peak_system_bytes = 310 * kMB;
    sweep_.facts.threads = sweep_.facts.arenas = 1;
    sweep_.facts.pin_count = 1000;
    sweep_.facts.pinned_bytes = sweep_.facts.hole_bytes = 285 * kMB;
    Add({}, 310, 300);
    Add(FreezeProbe(), 310, 300);
  }

  static SweepPoint Point(std::initializer_list<std::pair<const char*, const char*>> settings) {
    SweepPoint point;
    for (const auto& [name, value] : settings) point.tunables[std::string("glibc.malloc.") + name] = value;
    return point;
  }

  SweepRow& Add(const SweepPoint& point, uint64_t peak_mb, uint64_t end_mb, uint64_t faults = 100'000) {
    SweepRow& row = sweep_.rows.emplace_back();
    row.point = point;
    row.peak.system = row.peak.resident = peak_mb * kMB;
    row.end.system = row.end.resident = end_mb * kMB;
    row.minor_faults = faults;
    row.syscalls.mmap = 1000;
    row.peak_mappings = 5;
    return row;
  }

  std::string Recommended(uint64_t duration_ns = 0) {
    advice_ = Recommend(sweep_, duration_ns);
    return advice_.row.has_value() ? PointName(sweep_.rows[*advice_.row].point) : "nothing";
  }

  std::string Why(const std::string& lever) const {
    for (const Alternative& other : advice_.alternatives) {
      if (other.lever == lever) return other.why;
    }
    return "not told of";
  }

  Sweep sweep_;
  Recommendation advice_;
};

TEST_F(RecommendationTest, TheSmallestChangeThatIsNearlyAsGood) {
  Add(Point({{"arena_max", "1"}, {"mmap_threshold", "65536"}}), 205, 10);
  Add(Point({{"mmap_threshold", "65536"}}), 210, 12);
  Add(Point({{"mmap_threshold", "131072"}}), 210, 14);
  Add(Point({{"mmap_threshold", "1048576"}}), 240, 60);
  EXPECT_EQ(Recommended(), "mmap_threshold=128K") << "nearest to the default of those within 5 %";
  EXPECT_NE(advice_.reason.find("98 % of the most that any setting gained (arena_max=1 mmap_threshold=64K)"), std::string::npos)
      << advice_.reason;
  EXPECT_NE(advice_.freeze.find("by itself gains nothing: it is the value that helps"), std::string::npos) << advice_.freeze;
}

TEST_F(RecommendationTest, AValueIsToldFromTheFreeze) {
  Add(Point({{"mmap_threshold", "65536"}}), 210, 12);
  sweep_.rows[1].peak.resident = 210 * kMB;
  sweep_.rows[1].end.resident = 12 * kMB;
  EXPECT_EQ(Recommended(), "mmap_threshold=64K") << "which people know; the probe does as well";
  EXPECT_NE(advice_.freeze.find("it is the freeze that helps, not the value"), std::string::npos) << advice_.freeze;
  EXPECT_EQ(Why("trim_threshold"), "does as well, by the same freeze");
  Add(Point({{"mmap_threshold", "131072"}}), 210, 12);
  EXPECT_EQ(Recommended(), "mmap_threshold=128K") << "its own default";
  sweep_.rows[1].peak.resident = 260 * kMB;
  sweep_.rows[1].end.resident = 156 * kMB;
  EXPECT_EQ(Recommended(), "mmap_threshold=128K");
  EXPECT_NE(advice_.freeze.find("by itself gains 50 % of this; the rest is the value"), std::string::npos) << advice_.freeze;
}

TEST_F(RecommendationTest, NothingIsNotForcedOnAHeapThatHoldsLittle) {
  Add(Point({{"top_pad", "0"}}), 309, 299);
  sweep_.facts.requested_bytes = sweep_.facts.half_requested_bytes = 298 * kMB;
  sweep_.facts.peak_requested_bytes = 305 * kMB;
  EXPECT_EQ(Recommended(), "nothing");
  EXPECT_NE(advice_.reason.find("is what heaps keep"), std::string::npos) << advice_.reason;
}

TEST_F(RecommendationTest, WhereNothingHelpsTrimmingIsTold) {
  SweepPoint trim;
  trim.trim_at_end = true;
  Add(trim, 310, 12);
  SweepPoint jemalloc;
  jemalloc.allocator = "jemalloc";
  Add(jemalloc, 200, 11);
  EXPECT_EQ(Recommended(), "nothing") << "neither a call nor an allocator is a setting";
  EXPECT_NE(advice_.reason.find("malloc_trim(0) at the end would give back 288.0 MB, leaving 12.0 MB resident"), std::string::npos)
      << advice_.reason;
  EXPECT_NE(advice_.reason.find("Of other allocators jemalloc comes to peak 200.0 MB, end 11.0 MB"), std::string::npos) << advice_.reason;
}

TEST_F(RecommendationTest, WhatCostsOutOfProportionIsNotRecommended) {
  Add(Point({{"mmap_threshold", "131072"}}), 210, 12, 3'000'000);
  EXPECT_EQ(Recommended(), "nothing");
  EXPECT_NE(advice_.reason.find("costs out of proportion: 3,000,000 page faults instead of 100,000 (30 times as many)"), std::string::npos)
      << advice_.reason;
  EXPECT_TRUE(absl::StartsWith(Why("mmap_threshold"), "costs out of proportion")) << Why("mmap_threshold");
  // Three seconds of a minute and a half are no such thing.
  EXPECT_EQ(Recommended(90'000'000'000), "mmap_threshold=128K");
  EXPECT_NE(advice_.price.find("2.90 s more over the 90.0 s that were recorded"), std::string::npos) << advice_.price;
}

TEST_F(RecommendationTest, TooManyMappingsAreRefusedAndManyWarnedOf) {
  Add(Point({{"mmap_threshold", "4096"}}), 210, 12).peak_mappings = 40'000;
  EXPECT_EQ(Recommended(), "nothing");
  EXPECT_NE(advice_.reason.find("40,000 mappings of the 65,530 that the kernel allows"), std::string::npos) << advice_.reason;
  sweep_.rows.back().peak_mappings = 10'000;
  EXPECT_EQ(Recommended(), "mmap_threshold=4K");
  ASSERT_EQ(advice_.warnings.size(), 1u);
  EXPECT_EQ(advice_.warnings[0], "10,000 mappings, 15 % of the kernel's limit");
}

TEST_F(RecommendationTest, APeakThatRisesIsRefused) {
  Add(Point({{"tcache_count", "0"}}), 360, 10);
  EXPECT_EQ(Recommended(), "nothing");
  EXPECT_NE(advice_.reason.find("would raise the peak to 360.0 MB"), std::string::npos) << advice_.reason;
  EXPECT_EQ(RemarksOn(sweep_, sweep_.rows.back()), std::vector<std::string>{"peak higher by 50.0 MB"});
}

TEST_F(RecommendationTest, APeakThatOnlyMovedIsRemarkedOn) {
  sweep_.rows[0].peak_event = 100;
  SweepRow& row = Add(Point({{"tcache_count", "0"}}), 310, 10);
  row.peak_event = 100;
  EXPECT_EQ(RemarksOn(sweep_, row), std::vector<std::string>{"the end alone: the peak stays"});
  row.peak_event = 1500;
  EXPECT_EQ(RemarksOn(sweep_, row), std::vector<std::string>{"the peak stays, and comes at event 1,500"});
  EXPECT_EQ(Recommended(), "tcache_count=0");
  EXPECT_EQ(advice_.warnings, std::vector<std::string>{"the peak stays, and comes at event 1,500"});
}

TEST_F(RecommendationTest, ManyThreadsInOneArenaAreWarnedOf) {
  sweep_.facts.threads = 16;
  Add(Point({{"arena_max", "1"}}), 30, 26);
  Add(Point({{"arena_max", "2"}}), 60, 48);
  EXPECT_EQ(Recommended(), "arena_max=1");
  ASSERT_EQ(advice_.warnings.size(), 1u);
  EXPECT_TRUE(absl::StartsWith(advice_.warnings[0], "16 threads would share 1 arena")) << advice_.warnings[0];
  EXPECT_NE(advice_.warnings[0].find("arena_max=2 comes to peak 60.0 MB, end 48.0 MB"), std::string::npos) << advice_.warnings[0];
}

TEST_F(RecommendationTest, AlternativesSayWhyTheyAreIdle) {
  Add(Point({{"mmap_threshold", "131072"}}), 210, 12);
  Add(Point({{"arena_max", "1"}}), 310, 300);
  Add(Point({{"tcache_count", "0"}}), 310, 300);
  Add(Point({{"tcache_count", "2"}}), 280, 250);
  Add(Point({{"top_pad", "1048576"}}), 311, 301);
  SweepPoint broken;
  broken.allocator = "/opt/broken.so";
  Add(broken, 0, 0).failure = "crashed";
  EXPECT_EQ(Recommended(), "mmap_threshold=128K");
  EXPECT_EQ(Why("arena_max"), "one thread allocates, from one arena");
  EXPECT_EQ(Why("tcache_count"), "helps less: 21 % of what is recommended");
  EXPECT_EQ(Why("top_pad"), "moves what the top keeps, 0.0 MB; 285.0 MB are pinned below live blocks");
  EXPECT_EQ(Why("/opt/broken.so"), "not told of") << "it has no figures";
  EXPECT_EQ(Why("mmap_threshold"), "not told of") << "it is recommended";
}

TEST_F(RecommendationTest, WithoutTouchingSystemBytesDecide) {
  sweep_.recorded.settings.touch = Touch::kNone;
  SweepRow& row = Add(Point({{"mmap_threshold", "131072"}}), 210, 12);
  row.peak.resident = row.end.resident = 0;
  EXPECT_EQ(HeldBytes(sweep_, row), 111 * kMB);
  EXPECT_EQ(Recommended(), "mmap_threshold=128K");
  EXPECT_NE(advice_.reason.find("system peak 210.0 MB, end 12.0 MB"), std::string::npos) << advice_.reason;
}

}  // namespace
}  // namespace heaptape
