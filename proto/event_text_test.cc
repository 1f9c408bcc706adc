#include "proto/event_text.h"

#include <string>

#include "gtest/gtest.h"

namespace heaptape {
namespace {

std::string Text(const Event& event) {
  std::string text;
  AppendEventText(17, event, &text);
  EXPECT_EQ(text.back(), '\n');
  text.pop_back();
  return text;
}

TEST(EventTextTest, EveryKind) {
  EXPECT_EQ(Text({.address = 0x55d0, .size = 100}), "17 t0 malloc(100) = 0x55d0");
  EXPECT_EQ(Text({.size = 100, .thread = 2}), "17 t2 malloc(100) = 0x0");
  EXPECT_EQ(Text({.address = 0x55d0, .kind = EventKind::kFree}), "17 t0 free(0x55d0)");
  EXPECT_EQ(Text({.address = 0x55d0, .size = 6, .kind = EventKind::kCalloc}), "17 t0 calloc(1, 6) = 0x55d0");
  EXPECT_EQ(Text({.address = 0x66d0, .old_address = 0x55d0, .size = 300, .kind = EventKind::kRealloc}),
            "17 t0 realloc(0x55d0, 300) = 0x66d0");
  EXPECT_EQ(Text({.old_address = 0x55d0, .kind = EventKind::kReallocBegin}), "17 t0 realloc_begin(0x55d0)");
  EXPECT_EQ(Text({.address = 0x66d0, .size = 300, .kind = EventKind::kReallocEnd}), "17 t0 realloc_end(300) = 0x66d0");
  EXPECT_EQ(Text({.address = 0x40, .size = 8, .kind = EventKind::kMemalign, .alignment_log2 = 6}),
            "17 t0 memalign(64, 8) = 0x40");
  EXPECT_EQ(Text({.address = 0x40, .size = 8, .kind = EventKind::kAlignedAlloc, .alignment_log2 = 6}),
            "17 t0 aligned_alloc(64, 8) = 0x40");
  EXPECT_EQ(Text({.address = 0x40, .size = 8, .kind = EventKind::kPosixMemalign, .alignment_log2 = 6}),
            "17 t0 posix_memalign(64, 8) = 0x40");
  EXPECT_EQ(Text({.address = 0x1000, .size = 8, .kind = EventKind::kValloc, .alignment_log2 = 12}),
            "17 t0 valloc(8) = 0x1000");
  EXPECT_EQ(Text({.address = 0x1000, .size = 8, .kind = EventKind::kPvalloc, .alignment_log2 = 12}),
            "17 t0 pvalloc(8) = 0x1000");
  EXPECT_EQ(Text({.size = 4711, .thread = 3, .kind = EventKind::kThreadStart}), "17 t3 thread_start(tid 4711)");
  EXPECT_EQ(Text({.thread = 3, .kind = EventKind::kThreadEnd}), "17 t3 thread_end()");
  EXPECT_EQ(Text({.address = 1, .old_address = 65536, .size = static_cast<uint64_t>(-3), .kind = EventKind::kMallopt}),
            "17 t0 mallopt(-3, 65536) = 1");
  EXPECT_EQ(Text({.address = 1, .size = 4096, .kind = EventKind::kMallocTrim}), "17 t0 malloc_trim(4096) = 1");
}

}  // namespace
}  // namespace heaptape
