#include "analysis/sweep_point.h"

#include <algorithm>
#include <set>

#include "gtest/gtest.h"
#include "replayer/driver/tunables.h"

namespace heaptape {
namespace {

TEST(SweepPointTest, NamesAreShortAndOneEach) {
  EXPECT_EQ(PointName(SweepPoint()), "as recorded");
  EXPECT_EQ(PointName(FreezeProbe()), "trim_threshold=128K");
  EXPECT_EQ(PointName({.tunables = {{"glibc.malloc.mmap_threshold", "1048576"}, {"glibc.malloc.arena_max", "1"}}}),
            "arena_max=1 mmap_threshold=1M");
  EXPECT_EQ(PointName({.tunables = {{"glibc.malloc.tcache_count", "0"}}}), "tcache_count=0");
  EXPECT_EQ(PointName({.tunables = {{"glibc.malloc.trim_threshold", "4294967295"}}}), "trim_threshold=4294967295");
  EXPECT_EQ(PointName({.tunables = {}, .allocator = "jemalloc"}), "jemalloc");
  EXPECT_EQ(PointName({.tunables = {}, .trim_at_end = true}), "malloc_trim(0) at the end");
}

// Each is a point of its own, which glibc takes; every setting of the issue of which
// setting helps is among those tried alone.
TEST(SweepPointTest, TheDefaultGrid) {
  const std::vector<SweepPoint> grid = DefaultGrid({"jemalloc"});
  const absl::StatusOr<Tunables> known = Tunables::Load();
  ASSERT_TRUE(known.ok()) << known.status();
  std::set<std::string> names, alone;
  for (const SweepPoint& point : grid) {
    EXPECT_TRUE(names.insert(PointName(point)).second) << PointName(point);
    EXPECT_NE(point, SweepPoint());
    for (const auto& [name, value] : point.tunables) {
      EXPECT_TRUE(known->Check(name, value).ok()) << name << "=" << value;
      if (point.tunables.size() == 1) alone.insert(name.substr(sizeof("glibc.malloc")));
    }
  }
  EXPECT_EQ(alone, (std::set<std::string>{"arena_max", "hugetlb", "mmap_max", "mmap_threshold", "mxfast", "tcache_count",
                                          "top_pad", "trim_threshold"}));
  EXPECT_EQ(names.count("malloc_trim(0) at the end"), 1u);
  EXPECT_EQ(names.count("jemalloc"), 1u);
  EXPECT_EQ(names.count("arena_max=1 mmap_threshold=64K"), 1u);
}

}  // namespace
}  // namespace heaptape
