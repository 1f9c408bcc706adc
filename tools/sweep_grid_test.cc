#include "tools/sweep_grid.h"

#include "gtest/gtest.h"

namespace heaptape {
namespace {

std::vector<std::string> Names(const std::string& spec) {
  const absl::StatusOr<std::vector<SweepPoint>> points = ParseGrid(spec);
  if (!points.ok()) return {std::string(points.status().message())};
  std::vector<std::string> names;
  for (const SweepPoint& point : *points) names.push_back(PointName(point));
  return names;
}

using Expected = std::vector<std::string>;

TEST(SweepGridTest, EveryCombination) {
  EXPECT_EQ(Names("mmap_threshold=64K,1M arena_max=1,default"),
            (Expected{"arena_max=1 mmap_threshold=64K", "mmap_threshold=64K", "arena_max=1 mmap_threshold=1M", "mmap_threshold=1M"}));
  EXPECT_EQ(Names("allocator=glibc,jemalloc,/opt/a.so"), (Expected{"as recorded", "jemalloc", "/opt/a.so"}));
  EXPECT_EQ(Names("trim=no,end"), (Expected{"as recorded", "malloc_trim(0) at the end"}));
  EXPECT_EQ(Names("glibc.malloc.mxfast=0"), Expected{"mxfast=0"});
}

TEST(SweepGridTest, Ranges) {
  EXPECT_EQ(Names("mmap_threshold=32K..256K*2"),
            (Expected{"mmap_threshold=32K", "mmap_threshold=64K", "mmap_threshold=128K", "mmap_threshold=256K"}));
  EXPECT_EQ(Names("mmap_threshold=32K..255K*2").size(), 3u) << "an end that is not met is not tried";
  EXPECT_EQ(Names("arena_max=1..4+1"), (Expected{"arena_max=1", "arena_max=2", "arena_max=3", "arena_max=4"}));
  EXPECT_EQ(Names("arena_max=1,8..9+1"), (Expected{"arena_max=1", "arena_max=8", "arena_max=9"}));
  EXPECT_EQ(Names("top_pad=18446744073709551614..18446744073709551615+1").size(), 2u) << "no way round";
  EXPECT_EQ(Names("top_pad=9223372036854775808..18446744073709551615*2").size(), 1u);
}

TEST(SweepGridTest, WhatIsWrongIsNamed) {
  EXPECT_EQ(Names("arena_max"), Expected{"\"arena_max\": not of the form NAME=VALUES"});
  EXPECT_EQ(Names("=1"), Expected{"\"=1\": not of the form NAME=VALUES"});
  EXPECT_EQ(Names(" "), Expected{"\" \": an empty grid"});
  EXPECT_EQ(Names("arena_max=1,,2"), Expected{"\"arena_max=1,,2\": a value is missing"});
  EXPECT_EQ(Names("arena_max=one"), Expected{"\"arena_max=one\": one is no number, range or \"default\""});
  EXPECT_EQ(Names("arena_max=1 arena_max=2"), Expected{"\"arena_max=2\": arena_max stands twice in one grid"});
  EXPECT_EQ(Names("trim=now"), Expected{"\"trim=now\": trim is \"end\" or \"no\""});
  EXPECT_EQ(Names("arena_max=1..4"), Expected{"\"1..4\": a range ends in *FACTOR or +STEP, as in 32K..4M*2"});
  EXPECT_EQ(Names("arena_max=1..x+1"), Expected{"\"1..x+1\": not a range of numbers"});
  EXPECT_EQ(Names("arena_max=4..1+1"), Expected{"\"4..1+1\": begins above its end"});
  for (const char* endless : {"0..4*2", "1..4*1", "1..4+0"}) {
    EXPECT_EQ(Names(std::string("arena_max=") + endless),
              Expected{std::string("\"") + endless + "\": does not get from its beginning to its end"});
  }
  EXPECT_EQ(Names("arena_max=1..100000+1"), Expected{"\"1..100000+1\": too many values"});
  EXPECT_EQ(Names("arena_max=1..101+1 mxfast=1..101+1"),
            Expected{"\"arena_max=1..101+1 mxfast=1..101+1\": more than 10000 combinations"});
}

}  // namespace
}  // namespace heaptape
