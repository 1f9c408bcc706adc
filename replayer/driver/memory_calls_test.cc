// Every memory system call of a replay, and what follows from them.

#include <cstdint>
#include <cstring>
#include <string>
#include <utility>
#include <vector>

#include "gtest/gtest.h"
#include "replayer/driver/engine_environment.h"
#include "replayer/driver/replay_comparison.h"
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

// What libc's rewritten stubs tell is what signals tell, call by call.
void ExpectCallSitesChangeNothing(const ToyProgram& program, ReplaySettings settings) {
  const Logged rewritten = ReplayAndLog(program, settings);
  settings.keep_call_sites = true;
  const Logged kept = ReplayAndLog(program, settings);
  EXPECT_GT(rewritten.result.settings.rewritten_call_sites, 0u);
  EXPECT_EQ(kept.result.settings.rewritten_call_sites, 0u);
  const absl::Status same = CompareReplays(rewritten.result, kept.result);
  EXPECT_TRUE(same.ok()) << same;
  ASSERT_EQ(rewritten.calls.size(), kept.calls.size());
  if (!kept.result.settings.aslr_disabled) return;  // addresses differ
  for (size_t i = 0; i < kept.calls.size(); ++i) {
    ASSERT_EQ(std::memcmp(&rewritten.calls[i], &kept.calls[i], sizeof(MemoryCall)), 0) << i;
  }
}

TEST(MemoryCalls, CallSitesChangeNothing) {
  ToyProgram program;
  for (uint32_t thread = 0; thread < 5; ++thread) {
    program.Thread(thread).FillAndFree(50, 3000, true);
  }
  program.Thread(0).Churn(23, 60000, 1000, 200000, 5);
  program.Thread(3).EndThread();
  program.Thread(6).Calloc(500000);
  program.Thread(2).Churn(24, 10000, 200, 400000, 3);
  for (const std::string allocator : {"glibc", "jemalloc", "mimalloc"}) {
    if (allocator != "glibc" && !AllocatorPath(allocator).ok()) continue;
    for (const bool token_mode : {false, true}) {
      SCOPED_TRACE(allocator + (token_mode ? ", token mode" : ""));
      ReplaySettings settings;
      settings.allocator = allocator;
      settings.token_mode = token_mode;
      ExpectCallSitesChangeNothing(program, settings);
    }
  }
}

TEST(MemoryCalls, CallSitesChangeNothingUnderOtherSettings) {
  ToyProgram program;
  program.Churn(25, 10000, 500, 400000, 4);
  for (const auto& [name, value] :
       {std::pair("mmap_threshold", "4096"), std::pair("mmap_max", "0"), std::pair("top_pad", "0"),
        std::pair("arena_max", "1"), std::pair("hugetlb", "1")}) {
    SCOPED_TRACE(name);
    ReplaySettings settings = With(name, value);
    ExpectCallSitesChangeNothing(program, settings);
    settings.touch = Touch::kPages;
    ExpectCallSitesChangeNothing(program, settings);
  }
}

// mallinfo2 is asked at the end of each replay (toy_replay.h), so let there be
// an end at a sample, at some sixty of them from the first event to the last.
TEST(MemoryCalls, SystemBytesAreGlibcsOwnAtSamples) {
  ToyProgram program;
  program.Churn(22, 16000, 800, 200000, 4);
  const ReplayResult whole = Replayed(program);
  ASSERT_GT(whole.timeline.size(), 1000u);
  for (size_t i = 1; i < whole.timeline.size(); i += 32) {
    const TimelinePoint& point = whole.timeline[i];
    const ReplayResult part = Replayed(program, {}, {.until_event = point.event});
    EXPECT_EQ(part.mallinfo_arena + part.mallinfo_hblkhd, point.system_bytes) << point.event;
    EXPECT_EQ(part.usable_bytes, point.usable_bytes) << point.event;
  }
}

}  // namespace
}  // namespace heaptape
