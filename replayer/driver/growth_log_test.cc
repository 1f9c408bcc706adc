#include "replayer/driver/growth_log.h"

#include <vector>

#include "gtest/gtest.h"

namespace heaptape {
namespace {

MemoryCall Call(uint64_t event, MemoryCall::Kind kind, uint64_t before, uint64_t after) {
  MemoryCall call = {};
  call.event = event;
  call.kind = kind;
  call.address = 0x10000;
  call.bytes_before = before;
  call.bytes_after = after;
  return call;
}

TEST(GrowthLog, OnlyStepsUp) {
  GrowthLog log;
  log.Add(Call(1, MemoryCall::kMmap, 0, 8192));
  log.Add(Call(2, MemoryCall::kMadvise, 8192, 8192));
  log.Add(Call(3, MemoryCall::kMunmap, 8192, 0));
  log.Add(Call(4, MemoryCall::kMmap, 0, 4096));
  log.Add(Call(5, MemoryCall::kBrk, 4096, 12288));
  const std::vector<GrowthStep>& steps = log.steps();
  ASSERT_EQ(steps.size(), 3u);
  EXPECT_EQ(steps[0].event, 1u);
  EXPECT_EQ(steps[0].bytes, 8192u);
  EXPECT_TRUE(steps[0].new_peak);
  EXPECT_EQ(steps[1].bytes, 4096u);
  EXPECT_FALSE(steps[1].new_peak) << "the heap was larger before";
  EXPECT_EQ(steps[2].kind, GrowthStep::Kind::kBrk);
  EXPECT_EQ(steps[2].system_bytes, 12288u);
  EXPECT_TRUE(steps[2].new_peak);
}

TEST(GrowthLog, BrkNamesWhereTheNewBytesBegin) {
  GrowthLog log;
  MemoryCall call = Call(1, MemoryCall::kBrk, 0, 0x3000);
  call.address = 0x53000;
  call.bytes = 0x3000;
  log.Add(call);
  EXPECT_EQ(log.steps()[0].address, 0x50000u);
}

TEST(GrowthLog, AHeapThatGrowsBackWithoutACall) {
  GrowthLog log;
  log.Add(Call(1, MemoryCall::kMprotect, 0, 40960));
  log.Add(Call(9, MemoryCall::kMadvise, 40960, 8192));
  log.Add(Call(20, MemoryCall::kMmap, 40960, 45056));
  ASSERT_EQ(log.steps().size(), 3u);
  EXPECT_EQ(log.steps()[1].kind, GrowthStep::Kind::kRegrown);
  EXPECT_EQ(log.steps()[1].bytes, 32768u);
  EXPECT_EQ(log.steps()[2].bytes, 4096u);
}

TEST(GrowthLog, GreatStepsStayAloneAndTheSumIsKept) {
  GrowthLog log(64);
  uint64_t system = 0;
  for (uint64_t event = 1; event <= 100000; ++event) {
    const uint64_t bytes = event % 10000 == 0 ? 64 << 20 : 4096;
    log.Add(Call(event, MemoryCall::kMmap, system, system + bytes));
    system += bytes;
  }
  EXPECT_LE(log.steps().size(), 64u);
  uint64_t sum = 0, steps = 0, alone = 0, last = 0;
  for (const GrowthStep& step : log.steps()) {
    sum += step.bytes;
    steps += step.steps;
    EXPECT_EQ(step.system_bytes, sum);
    EXPECT_GT(step.event, last);
    last = step.last_event;
    alone += step.steps == 1 && step.event % 10000 == 0;
  }
  EXPECT_EQ(sum, system);
  EXPECT_EQ(steps, 100000u);
  EXPECT_EQ(alone, 10u);
}

}  // namespace
}  // namespace heaptape
