#include "replayer/engine/process_maps.h"

#include <sys/mman.h>

#include <cstdint>
#include <cstring>
#include <vector>

#include "gtest/gtest.h"

namespace heaptape {
namespace {

MapsLine Parse(const char* text) {
  MapsLine line = {};
  EXPECT_TRUE(ParseMapsLine(text, text + std::strlen(text), &line));
  return line;
}

TEST(ProcessMaps, ParsesLines) {
  const MapsLine heap =
      Parse("555555559000-55555557a000 rw-p 00000000 00:00 0                          [heap]");
  EXPECT_EQ(heap.lo, 0x555555559000u);
  EXPECT_EQ(heap.hi, 0x55555557a000u);
  EXPECT_TRUE(heap.read_write_private && heap.anonymous && heap.heap);
  const MapsLine anonymous = Parse("7ffff0000000-7ffff0021000 rw-p 00000000 00:00 0 ");
  EXPECT_TRUE(anonymous.read_write_private && anonymous.anonymous && !anonymous.heap);
  EXPECT_FALSE(Parse("7ffff0021000-7ffff4000000 ---p 00000000 00:00 0").read_write_private);
  EXPECT_FALSE(Parse("1000-2000 rw-p 00001000 08:01 42    /lib/libc.so.6").anonymous);
  EXPECT_FALSE(Parse("1000-2000 rw-p 00000000 00:00 0     [stack]").anonymous);
  EXPECT_FALSE(Parse("1000-2000 rw-s 00000000 00:00 0").read_write_private);
}

TEST(ProcessMaps, RefusesWhatIsNoLine) {
  MapsLine line;
  for (const char* text : {"", "1000", "1000-", "1000-2000", "1000-2000 rw", "x-y rw-p"}) {
    EXPECT_FALSE(ParseMapsLine(text, text + std::strlen(text), &line)) << text;
  }
}

TEST(ProcessMaps, VisitsAnonymousMappings) {
  struct Seen {
    uint64_t address;
    bool found;
  };
  void* memory = mmap(nullptr, 1 << 20, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  Seen seen = {reinterpret_cast<uint64_t>(memory), false};
  EXPECT_TRUE(VisitAnonymousMaps(
      0,
      [](uint64_t lo, uint64_t hi, void* context) {
        Seen& seen = *static_cast<Seen*>(context);
        seen.found |= seen.address >= lo && seen.address < hi;
      },
      &seen));
  EXPECT_TRUE(seen.found);
  munmap(memory, 1 << 20);
}

}  // namespace
}  // namespace heaptape
