// Replays of made-up programs, through compiler, driver and engine.

#include <fcntl.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "proto/trace_writer.h"
#include "replayer/driver/replay_comparison.h"
#include "replayer/driver/replayer.h"
#include "replayer/driver/toy_program.h"
#include "replayer/driver/toy_replay.h"
#include "replayer/plan/plan_compiler.h"

namespace heaptape {
namespace {

using testing::HasSubstr;

ReplaySettings WithTouch() {
  ReplaySettings settings;
  settings.touch = Touch::kPages;
  return settings;
}

ReplaySettings WithTokens() {
  ReplaySettings settings;
  settings.token_mode = true;
  return settings;
}

// Mappings that arenas other than the main one live in.
int ArenaHeaps(const ReplayResult& result) {
  int heaps = 0;
  for (const Region& region : result.regions) heaps += region.lo % (64 << 20) == 0;
  return heaps;
}

struct Mallinfo {
  uint64_t arena = 0, hblkhd = 0, uordblks = 0, fordblks = 0;
};

// What the same calls give in a program that makes them directly.
Mallinfo CallDirectly(const ToyProgram& program, const std::string& tunables = "") {
  PlanCompiler compiler;
  std::vector<uint64_t> words;
  compiler.Add(1, program.events(), &words);
  compiler.Finish(&words);
  const std::string path = testing::TempDir() + "/words." + std::to_string(getpid());
  std::ofstream(path, std::ios::binary)
      .write(reinterpret_cast<const char*>(words.data()), words.size() * sizeof(words[0]));
  const std::string command = "GLIBC_TUNABLES=" + tunables + " $TEST_SRCDIR/heaptape/replayer" +
                              "/driver/direct_calls < " + path;
  FILE* pipe = popen(command.c_str(), "r");
  unsigned long a = 0, h = 0, u = 0, f = 0;
  EXPECT_EQ(fscanf(pipe, "%lu %lu %lu %lu", &a, &h, &u, &f), 4);
  EXPECT_EQ(pclose(pipe), 0);
  unlink(path.c_str());
  return {a, h, u, f};
}

void ExpectAsDirectly(const ToyProgram& program, const std::string& name = "",
                      const std::string& value = "") {
  const Mallinfo direct =
      CallDirectly(program, name.empty() ? "" : "glibc.malloc." + name + "=" + value);
  const ReplayResult replay =
      Replayed(program, name.empty() ? ReplaySettings() : With(name, value));
  EXPECT_EQ(replay.mallinfo_arena, direct.arena);
  EXPECT_EQ(replay.mallinfo_hblkhd, direct.hblkhd);
  EXPECT_EQ(replay.mallinfo_uordblks, direct.uordblks);
  EXPECT_EQ(replay.mallinfo_fordblks, direct.fordblks);
}

TEST(Replay, NothingLeavesTheHeapEmpty) {
  const ReplayResult result = Replayed(ToyProgram());
  EXPECT_EQ(result.system_bytes, 0u);
  EXPECT_EQ(result.mallinfo_arena, 0u);
  EXPECT_EQ(result.engine_allocations, 0u);
  EXPECT_EQ(result.peak_mappings, 0u);
  EXPECT_TRUE(result.settings.aslr_disabled);
  EXPECT_TRUE(result.settings.syscalls_seen);
  ASSERT_EQ(result.timeline.size(), 1u);
}

TEST(Replay, OneBlock) {
  ToyProgram program;
  program.Malloc(100);
  const ReplayResult result = Replayed(program);
  ASSERT_EQ(result.blocks.size(), 1u);
  const LiveBlock& block = result.blocks[0];
  EXPECT_EQ(block.requested_bytes, 100u);
  EXPECT_EQ(block.usable_bytes, 104u);
  EXPECT_EQ(block.event, 1u);
  EXPECT_EQ(result.usable_bytes, 104u);
  EXPECT_EQ(result.peak_usable.event, 1u);
  EXPECT_EQ(result.system_bytes, 135168u);
  EXPECT_EQ(result.syscalls.brk, 2u);
  ASSERT_EQ(result.regions.size(), 1u);
  EXPECT_EQ(result.regions[0].lo, result.heap_start);
  // The cache of the thread is made before the first block.
  ASSERT_EQ(result.own_blocks.size(), 1u);
  EXPECT_EQ(result.own_blocks[0].address, result.heap_start + 16);
  EXPECT_EQ(block.address, result.heap_start + 16 + 0x290);
}

TEST(Replay, GivesTheHeapOfTheProgramItself) {
  ToyProgram lifo, fifo, frames, churn;
  lifo.FillAndFree(20000, 1000, true);
  ExpectAsDirectly(lifo);
  ExpectAsDirectly(lifo, "tcache_count", "0");
  fifo.FillAndFree(20000, 1000, false);
  ExpectAsDirectly(fifo);
  // Large buffers come and go, small ones stay: the threshold moves.
  for (int i = 0; i < 50; ++i) {
    const auto frame = frames.Malloc(200000 + i * 100000);
    frames.Malloc(5000);
    frames.Free(frame);
  }
  ExpectAsDirectly(frames);
  ExpectAsDirectly(frames, "mmap_threshold", "65536");
  churn.Churn(1, 100000, 3000, 3000);
  ExpectAsDirectly(churn);
  ToyProgram large;
  large.Churn(2, 20000, 300, 600000);
  ExpectAsDirectly(large);
  ExpectAsDirectly(large, "mmap_threshold", "20000");
}

TEST(Replay, MalloptIsReplayed) {
  ToyProgram program;
  program.Mallopt(-3 /* M_MMAP_THRESHOLD */, 4096);
  for (int i = 0; i < 133; ++i) program.Malloc(1000);  // the first of the heap
  for (int i = 0; i < 10; ++i) program.Malloc(6000);
  EXPECT_EQ(Replayed(program).mallinfo_hblkhd, 10u * 8192);
  EXPECT_EQ(Replayed(program, {}, {.ignore_mallopt = true}).mallinfo_hblkhd, 0u);
  ExpectAsDirectly(program);
}

TEST(Replay, TwiceTheSameEvenOnABusyMachine) {
  ToyProgram program;
  program.Churn(3, 100000, 2000, 100000, 5);
  auto replayer = Replayer::Create(EventsInMemory(MachineOf(8), program.events()));
  ASSERT_TRUE(replayer.ok());
  const ReplayResult first = *(*replayer)->Run({});
  ReplaySettings check;
  check.check = true;
  EXPECT_TRUE((*replayer)->Run(check).ok());

  std::atomic<bool> stop = false;
  std::vector<std::thread> burners;
  for (int i = 0; i < 4; ++i)
    burners.emplace_back([&] {
      while (!stop) {
      }
    });
  for (int i = 0; i < 3; ++i) {
    const auto again = (*replayer)->Run({});
    ASSERT_TRUE(again.ok());
    EXPECT_TRUE(CompareReplays(first, *again).ok()) << CompareReplays(first, *again);
    EXPECT_EQ(first.minor_faults, again->minor_faults);
    EXPECT_EQ(first.resident_bytes, again->resident_bytes);
  }
  stop = true;
  for (std::thread& burner : burners) burner.join();
}

TEST(Replay, SeveralAtOnceFromOnePlan) {
  ToyProgram program;
  program.Churn(4, 50000, 2000, 100000);
  auto replayer = Replayer::Create(EventsInMemory(MachineOf(8), program.events()));
  ASSERT_TRUE(replayer.ok());
  std::vector<uint64_t> digests(6);
  std::vector<std::thread> threads;
  for (size_t i = 0; i < digests.size(); ++i) {
    threads.emplace_back([&, i] {
      const auto result =
          (*replayer)->Run(i % 2 == 0 ? ReplaySettings() : With("mmap_threshold", "50000"));
      digests[i] = result.ok() ? result->digest : 0;
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_NE(digests[0], 0u);
  EXPECT_NE(digests[0], digests[1]);
  for (size_t i = 2; i < digests.size(); ++i) EXPECT_EQ(digests[i], digests[i - 2]);
}

// The plan goes round a ring far smaller than itself.
TEST(Replay, APlanThatIsNotKeptGivesTheSame) {
  ToyProgram program;
  program.Churn(5, 300000, 2000, 5000, 3);
  const auto events = EventsInMemory(MachineOf(8), program.events());
  auto kept = Replayer::Create(events);
  auto streamed = Replayer::Create(events, {}, 16384);
  ASSERT_TRUE(kept.ok() && streamed.ok());
  const ReplayResult a = *(*kept)->Run({});
  for (int i = 0; i < 2; ++i) {
    const ReplayResult b = *(*streamed)->Run({});
    EXPECT_TRUE(CompareReplays(a, b).ok()) << CompareReplays(a, b);
  }
}

TEST(Replay, EachThreadHasItsArena) {
  ToyProgram program;
  for (uint32_t thread = 0; thread < 17; ++thread) program.Thread(thread).Malloc(1000);
  const ReplayResult result = Replayed(program);
  EXPECT_EQ(result.lanes, 17u);
  EXPECT_EQ(ArenaHeaps(result), 16);
  // A head of each arena and a cache of each thread.
  EXPECT_EQ(result.own_blocks.size(), 16u + 17u);
  EXPECT_TRUE(std::is_sorted(result.own_blocks.begin(), result.own_blocks.end(),
                             [](const Slot& a, const Slot& b) { return a.address < b.address; }));

  EXPECT_EQ(ArenaHeaps(Replayed(program, With("arena_max", "1"))), 0);
  EXPECT_EQ(ArenaHeaps(Replayed(program, With("arena_max", "4"))), 3);
  EXPECT_EQ(ArenaHeaps(Replayed(program, {}, {}, 1)), 8)
      << "the recorded machine had one processor";
}

TEST(Replay, OwnBlocksAndLiveBlocksAreAllThatIsInUse) {
  ToyProgram program;
  for (uint32_t thread = 0; thread < 5; ++thread) {
    for (int i = 0; i < 100; ++i) program.Thread(thread).Malloc(1000);
  }
  const ReplayResult result = Replayed(program);
  uint64_t in_use = 0;
  for (const LiveBlock& block : result.blocks) in_use += block.usable_bytes + 8;
  for (const Slot& own : result.own_blocks) {
    if (own.usable_bytes == 0x288) in_use += 0x290;
  }
  // mallinfo2 counts the heads of arenas as in use.
  for (const Slot& own : result.own_blocks) {
    if (own.usable_bytes != 0x288) in_use += own.usable_bytes;
  }
  EXPECT_EQ(result.mallinfo_uordblks, in_use);
}

TEST(Replay, AThreadThatEndsLeavesItsArenaToTheNext) {
  ToyProgram program;
  for (uint32_t thread = 1; thread <= 393; ++thread) {
    program.Thread(thread).FillAndFree(20, 100, true);
    if (thread > 36) program.EndThread();
  }
  const ReplayResult result = Replayed(program);
  EXPECT_EQ(result.lanes, 394u);
  EXPECT_EQ(ArenaHeaps(result), 37);
  EXPECT_EQ(result.own_blocks.size(), 37u + 36u) << "caches of ended threads are gone";
  EXPECT_EQ(result.engine_allocations, 393u) << "one dtv a thread, from the engine's own arena";
  EXPECT_LT(result.replay_seconds, 2);
}

TEST(Replay, HeapsGrowShrinkAndGo) {
  ToyProgram program;
  for (uint32_t thread = 0; thread < 4; ++thread) {
    program.Thread(thread);
    program.FillAndFree(3000, 60000, true);  // several heaps of 64 MiB, all but one go
    program.FillAndFree(300, 60000, true);   // grows again without a system call
    program.FillAndFree(1000, 100000, false);
  }
  const ReplayResult result = Replayed(program);
  EXPECT_GT(result.syscalls.madvise + result.syscalls.munmap, 0u);
  EXPECT_GT(result.peak_system.bytes, result.system_bytes);
  for (int seed = 0; seed < 5; ++seed) {
    ToyProgram churn;
    churn.Churn(10 + seed, 50000, 500, 120000, 6);
    Replayed(churn);
  }
}

TEST(Replay, PeakOfSystemBytesIsThatOfTheTimelineOrMore) {
  ToyProgram program;
  program.Churn(6, 100000, 1000, 120000, 6);
  const ReplayResult result = Replayed(program);
  uint64_t largest = 0;
  for (const TimelinePoint& point : result.timeline) {
    largest = std::max(largest, point.system_bytes);
    EXPECT_LE(point.requested_bytes, point.usable_bytes);
    EXPECT_LE(point.usable_bytes, point.system_bytes);
    EXPECT_LE(point.resident_bytes, point.system_bytes + (1 << 20));
  }
  EXPECT_GE(result.peak_system.bytes, largest);
  EXPECT_GT(largest, result.peak_system.bytes / 2);
  EXPECT_EQ(result.timeline.back().event, result.events_done);
  EXPECT_EQ(result.timeline.back().requested_bytes, result.requested_bytes);
}

// Replayed() compares the regions with mallinfo2 each time.
TEST(Replay, RegionsAgreeWithGlibcUnderEverySetting) {
  ToyProgram program;
  program.Churn(12, 60000, 1500, 150000, 7);
  program.Thread(3).EndThread();
  program.Thread(5).EndThread();
  program.Thread(0).Churn(13, 20000, 300, 400000, 3);
  for (const auto& [name, value] : std::vector<std::pair<const char*, const char*>>{
           {"top_pad", "0"},
           {"top_pad", "10000000"},
           {"trim_threshold", "0"},
           {"mmap_max", "0"},
           {"mmap_threshold", "4096"},
           {"arena_max", "2"},
           {"tcache_count", "0"},
           {"tcache_max", "1032"},
           {"mxfast", "160"},
           {"perturb", "85"},
           {"hugetlb", "1"},
           {"hugetlb", "2"}}) {
    SCOPED_TRACE(std::string(name) + "=" + value);
    Replayed(program, With(name, value));
    Replayed(program, With(name, value), {.trim_at_event = 40000});
  }
}

TEST(Replay, TokensGiveTheSameAsFsBase) {
  ToyProgram program;
  program.Churn(7, 20000, 1000, 50000, 4);
  for (uint32_t thread = 4; thread < 20; ++thread) {
    program.Thread(thread).FillAndFree(50, 3000, false);
    if (thread % 3 != 0) program.EndThread();
    program.Thread(thread % 4).Malloc(10);
  }
  const ReplayResult by_fs_base = Replayed(program);
  ASSERT_TRUE(by_fs_base.settings.lanes_by_fs_base);
  const ReplayResult by_token = Replayed(program, WithTokens());
  EXPECT_FALSE(by_token.settings.lanes_by_fs_base);
  EXPECT_TRUE(CompareReplays(by_fs_base, by_token).ok()) << CompareReplays(by_fs_base, by_token);
}

TEST(Replay, ThresholdDecidesWhatIsMmapped) {
  ToyProgram program;
  for (int i = 0; i < 100; ++i) program.Malloc(100000);
  const ReplayResult heap = Replayed(program);
  EXPECT_EQ(heap.mallinfo_hblkhd, 0u);
  const ReplayResult mapped = Replayed(program, With("mmap_threshold", "65536"));
  // The first comes out of the heap, which exists already.
  EXPECT_EQ(mapped.mallinfo_hblkhd, 99u * 102400);
  EXPECT_EQ(mapped.syscalls.mmap, 99u);
  EXPECT_EQ(mapped.peak_mappings, 2u) << "they touch, so the kernel makes one of them";
  EXPECT_NE(mapped.digest, heap.digest);
}

TEST(Replay, TouchMakesBlocksResident) {
  ToyProgram program;
  for (int i = 0; i < 100; ++i) program.Malloc(1 << 20);
  const ReplayResult untouched = Replayed(program);
  const ReplayResult touched = Replayed(program, WithTouch());
  EXPECT_EQ(untouched.digest, touched.digest);
  EXPECT_LT(untouched.resident_bytes, 2u << 20);
  EXPECT_GT(touched.resident_bytes, 100u << 20);
  EXPECT_EQ(touched.peak_resident.bytes, touched.resident_bytes);
  EXPECT_GT(touched.minor_faults, 100u * 256);
  EXPECT_LT(touched.minor_faults, 100u * 258);
  EXPECT_LT(untouched.minor_faults, 400u);
}

// The engine's own faults, on the pages of a long plan, are not the allocator's.
TEST(Replay, ALongPlanFaultsNoMoreThanAShortOne) {
  ToyProgram program;
  for (int i = 0; i < 1000; ++i) program.Free(program.Malloc(100));
  const uint64_t few = Replayed(program, WithTouch()).minor_faults;
  for (int i = 0; i < 500'000; ++i) program.Free(program.Malloc(100));
  for (const ReplaySettings& settings : {ReplaySettings(), WithTouch()}) {
    EXPECT_LT(Replayed(program, settings).minor_faults, few + 30);
  }
}

TEST(Replay, TrimGivesBack) {
  ToyProgram program;
  std::vector<ToyProgram::Block> blocks;
  for (int i = 0; i < 1000; ++i) {
    blocks.push_back(program.Malloc(100000));
    program.Malloc(100);
  }
  for (const auto block : blocks) program.Free(block);
  const ReplayResult kept = Replayed(program, WithTouch());
  ReplaySettings trim = WithTouch();
  trim.trim_at_end = true;
  const ReplayResult trimmed = Replayed(program, trim);
  EXPECT_GT(kept.resident_bytes, 90u << 20);
  EXPECT_LT(trimmed.resident_bytes, 10u << 20);
  EXPECT_GE(trimmed.system_bytes, 100u * 1000000) << "holes stay, only their pages go";
  EXPECT_EQ(trimmed.timeline.back().resident_bytes, trimmed.resident_bytes);
  EXPECT_EQ(trimmed.timeline.size(), kept.timeline.size());
}

TEST(Replay, UntilStopsThere) {
  ToyProgram program;
  program.FillAndFree(1000, 100, true);
  const ReplayResult result = Replayed(program, {}, {.until_event = 1000});
  EXPECT_EQ(result.events_done, 1000u);
  EXPECT_EQ(result.live_blocks, 1000u);
  EXPECT_EQ(result.requested_bytes, 100000u);
}

TEST(Replay, ManyMappings) {
  ToyProgram program;
  std::vector<ToyProgram::Block> blocks;
  for (int i = 0; i < 30000; ++i) blocks.push_back(program.Malloc(5000));
  for (size_t i = 0; i < blocks.size(); i += 2) program.Free(blocks[i]);
  const ReplayResult result = Replayed(program, With("mmap_threshold", "4096"));
  // A few dozen blocks came out of the heap, and every second mapping is gone.
  EXPECT_GE(result.peak_mappings, 14900u);
  EXPECT_EQ(result.regions.size(), result.mallinfo_hblkhd / 8192 + 1);
}

TEST(Replay, StoppedByProgress) {
  ToyProgram program;
  program.Churn(8, 3000000, 100000, 5000, 2);
  auto replayer = Replayer::Create(EventsInMemory(MachineOf(8), program.events()));
  ASSERT_TRUE(replayer.ok());
  ReplaySettings slow;
  slow.token_mode = true;
  const auto result = (*replayer)->Run(slow, [](double) { return false; });
  ASSERT_TRUE(result.ok()) << result.status();
  EXPECT_TRUE(result->stopped);
  EXPECT_LT(result->events_done, program.events().size());
  EXPECT_EQ(result->blocks.size(), result->live_blocks);
  // What there is, is joined with the trace.
  EXPECT_EQ(result->plan.live_blocks, result->live_blocks);
  EXPECT_EQ(result->plan.events, result->events_done);
  uint64_t requested = 0;
  for (const LiveBlock& block : result->blocks) {
    requested += block.requested_bytes;
    EXPECT_GE(block.usable_bytes, block.requested_bytes);
    EXPECT_NE(block.event, 0u);
  }
  EXPECT_EQ(requested, result->requested_bytes);
  for (const TimelinePoint& point : result->timeline) {
    EXPECT_LE(point.requested_bytes, point.usable_bytes) << point.event;
    EXPECT_GE(2 * point.requested_bytes, point.usable_bytes) << point.event;
  }
}

// What there is to spend on measuring lasts until the end.
TEST(Replay, ResidentBytesOfALargeHeapAreMeasuredLate) {
  constexpr uint64_t kLarge = 300 << 20;
  ToyProgram program;
  const auto first = program.Malloc(kLarge);
  for (int i = 0; i < 1000; ++i) program.Free(program.Malloc(100));
  const auto second = program.Malloc(kLarge);
  for (int i = 0; i < 100; ++i) program.Free(program.Malloc(100));
  program.Free(first);
  program.Free(second);
  ReplaySettings settings;
  settings.touch = Touch::kPages;
  const ReplayResult result = Replayed(program, settings);
  EXPECT_GE(result.peak_resident.bytes, 2 * kLarge);
  EXPECT_GE(result.peak_resident.event, 2002u);
}

TEST(Replay, ProgressNeverGoesBack) {
  ToyProgram program;
  program.Churn(8, 3000000, 10000, 5000, 2);
  auto replayer = Replayer::Create(EventsInMemory(MachineOf(8), program.events()));
  ASSERT_TRUE(replayer.ok());
  ReplayPosition last;
  int reports = 0;
  const auto result = (*replayer)->Run(WithTokens(), [&](const ReplayPosition& position) {
    EXPECT_GE(position.fraction, last.fraction);
    EXPECT_GE(position.events, last.events);
    EXPECT_LE(position.fraction, 1);
    last = position;
    return ++reports < 20;
  });
  ASSERT_TRUE(result.ok());
  EXPECT_GT(reports, 0);
}

TEST(Replay, AnotherAllocatorAnswersToTheSameWorld) {
  ToyProgram program;
  program.Churn(11, 20000, 1000, 1000, 3);
  ReplaySettings settings;
  settings.allocator = std::string(getenv("TEST_SRCDIR")) + "/heaptape/replayer/driver/libtoy.so";
  settings.touch = Touch::kPages;
  const ReplayResult a = Replayed(program, settings);
  EXPECT_FALSE(a.settings.is_glibc);
  EXPECT_EQ(a.settings.allocator_path, settings.allocator);
  EXPECT_EQ(a.system_bytes, 128u << 20);
  EXPECT_EQ(a.syscalls.mmap, 2u);
  EXPECT_EQ(a.regions.size(), 2u);
  EXPECT_EQ(a.mallinfo_arena, 0u);
  EXPECT_GT(a.resident_bytes, a.usable_bytes);
  const ReplayResult b = Replayed(program, settings);
  EXPECT_TRUE(CompareReplays(a, b).ok()) << CompareReplays(a, b);
  EXPECT_NE(a.digest, Replayed(program).digest);
}

TEST(Replay, WrongSettingsAreErrors) {
  ToyProgram program;
  auto replayer = Replayer::Create(EventsInMemory(MachineOf(8), program.events()));
  ASSERT_TRUE(replayer.ok());
  EXPECT_THAT((*replayer)->Run(With("mmap_treshold", "1")).status().message(),
              HasSubstr("did you mean glibc.malloc.mmap_threshold?"));
  ReplaySettings no_such;
  no_such.allocator = "/nowhere.so";
  EXPECT_EQ((*replayer)->Run(no_such).status().code(), absl::StatusCode::kNotFound);
  EXPECT_EQ(Replay("/nowhere.heaptape", {}, {}).status().code(), absl::StatusCode::kNotFound);
}

// The machine that replays may be set otherwise, and must not matter.
TEST(Replay, HeapsShrinkAsTheRecordedMachineOvercommitted) {
  ToyProgram program;
  program.Thread(0);
  program.Malloc(100);
  program.Thread(1);
  program.FillAndFree(300, 60000, true);
  SyscallCounts counts[3];
  for (uint32_t overcommit = 0; overcommit < 3; ++overcommit) {
    Header header = MachineOf(8);
    header.set_overcommit_memory(overcommit);
    const auto replayer = Replayer::Create(EventsInMemory(header, program.events()));
    ASSERT_TRUE(replayer.ok()) << replayer.status();
    const auto result = (*replayer)->Run({});
    ASSERT_TRUE(result.ok()) << result.status();
    counts[overcommit] = result->syscalls;
  }
  EXPECT_GT(counts[0].madvise, 0u);  // glibc 2.36: shrink_heap gives the pages back by madvise,
  EXPECT_EQ(counts[1].madvise, counts[0].madvise);
  EXPECT_EQ(counts[2].madvise, 0u);  // and maps anew where memory is never overcommitted
  EXPECT_EQ(counts[2].mmap, counts[0].mmap + counts[0].madvise);
}

TEST(Replay, ReadsATraceFile) {
  ToyProgram program;
  program.Churn(9, 10000, 500, 5000, 3);
  const std::string path = testing::TempDir() + "/replay_test.heaptape";
  unlink(path.c_str());
  auto writer = TraceWriter::Create(path, MachineOf(8));
  ASSERT_TRUE(writer.ok()) << writer.status();
  for (const Event& event : program.events()) ASSERT_TRUE((*writer)->Append(event).ok());
  ASSERT_TRUE((*writer)->Close({}).ok());
  const auto from_file = Replay(path, {}, {});
  ASSERT_TRUE(from_file.ok()) << from_file.status();
  EXPECT_TRUE(from_file->health.complete);
  EXPECT_EQ(from_file->header.cpus(), 8u);
  const ReplayResult from_memory = Replayed(program);
  EXPECT_TRUE(CompareReplays(*from_file, from_memory).ok());
}

}  // namespace
}  // namespace heaptape
