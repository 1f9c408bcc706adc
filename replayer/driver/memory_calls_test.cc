// Every memory system call of a replay, and what follows from them.

#include <cstdint>
#include <vector>

#include "gtest/gtest.h"
#include "replayer/driver/replayer.h"
#include "replayer/driver/toy_program.h"
#include "replayer/driver/toy_replay.h"

namespace heaptape {
namespace {

struct Logged {
  std::vector<MemoryCall> calls;
  ReplayResult result;
};

Logged ReplayAndLog(const ToyProgram& program, const ReplaySettings& settings = {}) {
  Logged logged;
  auto replayer = Replayer::Create(EventsInMemory(MachineOf(8), program.events()));
  EXPECT_TRUE(replayer.ok());
  auto result = (*replayer)->Run(
      settings, nullptr, [&](const MemoryCall& call) { logged.calls.push_back(call); });
  EXPECT_TRUE(result.ok()) << result.status();
  if (result.ok()) logged.result = *std::move(result);
  return logged;
}

uint64_t Count(const Logged& logged, MemoryCall::Kind kind) {
  uint64_t count = 0;
  for (const MemoryCall& call : logged.calls) count += call.kind == kind;
  return count;
}

TEST(MemoryCalls, AllAreLoggedInOrderWithTheirEvent) {
  ToyProgram program;
  program.Churn(21, 100000, 1500, 200000, 5);
  const Logged logged = ReplayAndLog(program);
  const SyscallCounts& counts = logged.result.syscalls;
  EXPECT_EQ(Count(logged, MemoryCall::kBrk), counts.brk);
  EXPECT_EQ(Count(logged, MemoryCall::kMmap), counts.mmap);
  EXPECT_EQ(Count(logged, MemoryCall::kMunmap), counts.munmap);
  EXPECT_EQ(Count(logged, MemoryCall::kMremap), counts.mremap);
  EXPECT_EQ(Count(logged, MemoryCall::kMprotect), counts.mprotect);
  EXPECT_EQ(Count(logged, MemoryCall::kMadvise), counts.madvise);
  uint64_t event = 0, peak = 0;
  for (const MemoryCall& call : logged.calls) {
    EXPECT_GE(call.event, event);
    event = call.event;
    peak = std::max({peak, call.bytes_before, call.bytes_after});
  }
  EXPECT_LE(event, program.events().size());
  EXPECT_EQ(peak, logged.result.peak_system.bytes);
}

TEST(MemoryCalls, MoreThanTheRingHolds) {
  ToyProgram program;
  for (int i = 0; i < 60000; ++i) program.Free(program.Malloc(300000));
  const Logged logged = ReplayAndLog(program, With("mmap_threshold", "131072"));
  EXPECT_EQ(logged.result.syscalls.mmap, 60000u);
  EXPECT_EQ(Count(logged, MemoryCall::kMmap), 60000u);
  EXPECT_EQ(Count(logged, MemoryCall::kMunmap), 60000u);
}

TEST(MemoryCalls, GrowthAddsUp) {
  ToyProgram program;
  for (int i = 0; i < 1000; ++i) program.Malloc(50000);
  const Logged logged = ReplayAndLog(program);
  uint64_t sum = 0;
  for (const GrowthStep& step : logged.result.growth) {
    sum += step.bytes;
    EXPECT_EQ(step.kind, GrowthStep::Kind::kBrk);
    EXPECT_EQ(step.origin, 0u);
    EXPECT_TRUE(step.new_peak);
    EXPECT_EQ(step.address, logged.result.heap_start + step.system_bytes - step.bytes);
  }
  EXPECT_EQ(sum, logged.result.system_bytes);
  EXPECT_GT(logged.result.growth.size(), 300u);
}

TEST(MemoryCalls, GrowthTellsArenasFromMappings) {
  ToyProgram program;
  program.Thread(1).Malloc(1000);
  program.Malloc(10 << 20);
  const Logged logged = ReplayAndLog(program);
  ASSERT_EQ(logged.result.growth.size(), 2u);
  const GrowthStep& heap = logged.result.growth[0];
  EXPECT_EQ(heap.event, 1u);
  EXPECT_EQ(heap.bytes, 135168u);
  EXPECT_TRUE(heap.arena_heap);
  EXPECT_EQ(heap.kind, GrowthStep::Kind::kMprotect);
  const GrowthStep& block = logged.result.growth[1];
  EXPECT_EQ(block.event, 2u);
  EXPECT_FALSE(block.arena_heap);
  EXPECT_EQ(block.kind, GrowthStep::Kind::kMmap);
  EXPECT_EQ(block.bytes, (10u << 20) + 4096);
  EXPECT_NE(block.origin, heap.origin);
}

// mallinfo2 is asked at the end of each replay (toy_replay.h), so let there be
// an end at every sample.
TEST(MemoryCalls, SystemBytesAreGlibcsOwnAtEverySample) {
  ToyProgram program;
  program.Churn(22, 16000, 800, 200000, 4);
  const ReplayResult whole = Replayed(program);
  ASSERT_GT(whole.timeline.size(), 60u);
  for (const TimelinePoint& point : whole.timeline) {
    if (point.event == 0) continue;
    const ReplayResult part = Replayed(program, {}, {.until_event = point.event});
    EXPECT_EQ(part.mallinfo_arena + part.mallinfo_hblkhd, point.system_bytes) << point.event;
    EXPECT_EQ(part.usable_bytes, point.usable_bytes) << point.event;
  }
}

}  // namespace
}  // namespace heaptape
