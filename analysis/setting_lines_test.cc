#include "analysis/setting_lines.h"

#include <map>

#include "gtest/gtest.h"

namespace heaptape {
namespace {

using Lines = std::vector<std::string>;

std::map<std::string, SettingLines> ById(const std::vector<SettingLines>& ways) {
  std::map<std::string, SettingLines> by_id;
  for (const SettingLines& way : ways) {
    EXPECT_FALSE(way.reach.empty()) << way.id;
    EXPECT_TRUE(by_id.emplace(way.id, way).second) << way.id;
  }
  return by_id;
}

TEST(SettingLinesTest, EachWay) {
  auto ways = ById(LinesToPaste(Header(), {{"glibc.malloc.mmap_threshold", "65536"}, {"glibc.malloc.arena_max", "1"}}));
  const std::string value = "glibc.malloc.arena_max=1:glibc.malloc.mmap_threshold=65536";
  EXPECT_EQ(ways["environment"].lines, Lines{"export GLIBC_TUNABLES=" + value});
  EXPECT_EQ(ways["older_variables"].lines, (Lines{"export MALLOC_ARENA_MAX=1", "export MALLOC_MMAP_THRESHOLD_=65536"}));
  EXPECT_EQ(ways["systemd"].lines, Lines{"Environment=\"GLIBC_TUNABLES=" + value + "\""});
  EXPECT_EQ(ways["docker"].lines, Lines{"ENV GLIBC_TUNABLES=\"" + value + "\""});
  EXPECT_EQ(ways["kubernetes"].lines, (Lines{"env:", "  - name: GLIBC_TUNABLES", "    value: \"" + value + "\""}));
  EXPECT_EQ(ways["c"].lines, (Lines{"#include <malloc.h>", "mallopt(M_ARENA_MAX, 1);", "mallopt(M_MMAP_THRESHOLD, 65536);"}));
  EXPECT_EQ(ways["python"].lines, (Lines{"import ctypes", "libc = ctypes.CDLL(\"libc.so.6\")", "libc.mallopt(-8, 1)  # M_ARENA_MAX",
                                         "libc.mallopt(-3, 65536)  # M_MMAP_THRESHOLD"}));
}

TEST(SettingLinesTest, WhatTheProgramHadIsKept) {
  Header header;
  header.add_environment("MALLOC_ARENA_MAX=2");
  header.add_environment("GLIBC_TUNABLES=glibc.cpu.x86_ibt=off:glibc.malloc.arena_max=4:glibc.malloc.top_pad=0");
  EXPECT_EQ(TunablesVariable(header, {{"glibc.malloc.arena_max", "1"}}),
            "glibc.cpu.x86_ibt=off:glibc.malloc.top_pad=0:glibc.malloc.arena_max=1");
}

TEST(SettingLinesTest, WhatCannotBeDoneIsSaid) {
  auto ways = ById(LinesToPaste(Header(), {{"glibc.malloc.tcache_count", "0"}}));
  EXPECT_EQ(ways["environment"].lines.size(), 1u);
  for (const char* id : {"older_variables", "c", "python"}) {
    EXPECT_TRUE(ways[id].lines.empty()) << id;
    EXPECT_NE(ways[id].reach.find("tcache_count"), std::string::npos) << ways[id].reach;
  }
  // More than an int holds.
  ways = ById(LinesToPaste(Header(), {{"glibc.malloc.trim_threshold", "4294967295"}}));
  EXPECT_EQ(ways["older_variables"].lines, Lines{"export MALLOC_TRIM_THRESHOLD_=4294967295"});
  EXPECT_TRUE(ways["c"].lines.empty());
}

}  // namespace
}  // namespace heaptape
