#include "replayer/driver/tunables.h"

#include <string>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace heaptape {
namespace {

using testing::HasSubstr;

constexpr char kListing[] =
    "glibc.malloc.arena_max: 0x0 (min: 0x1, max: 0xffffffffffffffff)\n"
    "glibc.malloc.mmap_threshold: 0x0 (min: 0x0, max: 0xffffffffffffffff)\n"
    "glibc.malloc.mmap_max: 0 (min: 0, max: 2147483647)\n"
    "glibc.malloc.tcache_max: 0x0 (min: 0x0, max: 0xffffffffffffffff)\n"
    "glibc.cpu.x86_ibt:\n"
    "glibc.rtld.nns: 0x4 (min: 0x1, max: 0x10)\n";

class TunablesTest : public testing::Test {
 protected:
  TunablesTest() : tunables_(*Tunables::Parse(kListing)) {}

  std::string Error(const std::string& name, const std::string& value) {
    const auto checked = tunables_.Check(name, value);
    EXPECT_EQ(checked.status().code(), absl::StatusCode::kInvalidArgument);
    return std::string(checked.status().message());
  }

  Tunables tunables_;
};

TEST_F(TunablesTest, NumbersComeOutDecimal) {
  EXPECT_EQ(*tunables_.Check("glibc.malloc.mmap_threshold", "0x10000"), "65536");
  EXPECT_EQ(*tunables_.Check("glibc.malloc.mmap_threshold", "65536"), "65536");
  EXPECT_EQ(*tunables_.Check("glibc.cpu.x86_ibt", "on"), "on");
}

TEST_F(TunablesTest, UnknownNamesGetASuggestion) {
  EXPECT_EQ(Error("glibc.malloc.mmap_treshold", "1"),
            "no tunable glibc.malloc.mmap_treshold; did you mean glibc.malloc.mmap_threshold? "
            "glibc.malloc.* are: arena_max, mmap_max, mmap_threshold, tcache_max");
  EXPECT_THAT(Error("mmap_threshold", "1"), HasSubstr("did you mean glibc.malloc.mmap_threshold?"));
  EXPECT_EQ(Error("glibc.rtld.xyzzy_plugh", "1"),
            "no tunable glibc.rtld.xyzzy_plugh; glibc.rtld.* are: nns");
  EXPECT_THAT(Error("colour", "1"), HasSubstr("glibc.malloc.* are: arena_max"));
}

TEST_F(TunablesTest, ValuesOutOfRangeAreRefused) {
  EXPECT_EQ(Error("glibc.malloc.mmap_max", "2147483648"),
            "glibc.malloc.mmap_max=2147483648 is out of range: 0 to 2147483647");
  EXPECT_EQ(Error("glibc.malloc.arena_max", "0"),
            "glibc.malloc.arena_max=0 is out of range: 1 or more");
  EXPECT_EQ(Error("glibc.malloc.tcache_max", "2000"),
            "glibc.malloc.tcache_max=2000 is out of range: 0 to 1032");
}

TEST_F(TunablesTest, WhatIsNoNumberIsRefused) {
  for (const char* value : {"", "-1", "12x", "99999999999999999999", "64K", " 1"}) {
    EXPECT_THAT(Error("glibc.malloc.mmap_max", value), HasSubstr("not a number"));
  }
  EXPECT_THAT(Error("glibc.cpu.x86_ibt", "on:glibc.malloc.check=3"), HasSubstr("':' or '='"));
}

TEST(Tunables, WhatFreezesTheThreshold) {
  for (const char* name : {"mmap_threshold", "trim_threshold", "top_pad", "mmap_max"}) {
    EXPECT_TRUE(FreezesMmapThreshold({{std::string("glibc.malloc.") + name, "0"}})) << name;
  }
  EXPECT_FALSE(FreezesMmapThreshold({{"glibc.malloc.arena_max", "1"}, {"glibc.malloc.tcache_count", "0"}}));
  EXPECT_FALSE(FreezesMmapThreshold({}));
}

TEST(Tunables, VariablesAndTheirTunables) {
  EXPECT_EQ(VariableOfTunable("glibc.malloc.top_pad"), "MALLOC_TOP_PAD_");
  EXPECT_EQ(TunableOfVariable("MALLOC_TOP_PAD_"), "glibc.malloc.top_pad");
  EXPECT_EQ(VariableOfTunable("glibc.malloc.tcache_count"), "");
}

TEST(Tunables, ThisSystemListsThoseOfMalloc) {
  const auto tunables = Tunables::Load();
  ASSERT_TRUE(tunables.ok()) << tunables.status();
  EXPECT_TRUE(tunables->Check("glibc.malloc.mmap_threshold", "65536").ok());
  EXPECT_FALSE(tunables->Check("glibc.malloc.mmap_treshold", "65536").ok());
  EXPECT_EQ(Tunables::Load("/nowhere").status().code(), absl::StatusCode::kUnavailable);
}

}  // namespace
}  // namespace heaptape
