// The map of heaps that glibc itself has made, against glibc's own account.

#include "analysis/replay_heap.h"

#include <string>
#include <vector>

#include "gtest/gtest.h"
#include "proto/random_events.h"
#include "replayer/driver/event_source.h"
#include "replayer/driver/replayer.h"

namespace heaptape {
namespace {

ReplayResult Replayed(const std::vector<Event>& events, const ReplaySettings& settings, bool trim = false) {
  auto replayer = Replayer::Create(EventsInMemory(Header(), events));
  EXPECT_TRUE(replayer.ok()) << replayer.status();
  ReplaySettings all = settings;
  all.trim_at_end = trim;
  auto result = (*replayer)->Run(all);
  EXPECT_TRUE(result.ok()) << result.status();
  return result.ok() ? *std::move(result) : ReplayResult();
}

std::vector<Event> Events(uint64_t seed, uint32_t threads, uint64_t max_size) {
  RandomEventsOptions options;
  options.seed = seed;
  options.threads = threads;
  options.count = 20000;
  options.max_size = max_size;
  return RandomEvents(options);
}

// Free bytes as mallinfo2 counts them are our holes, but for the 8 bytes at the top
// of each arena that the block before it uses. Blocks in thread caches are in use
// for glibc, so there is none here.
TEST(ReplayHeapTest, HolesAreWhatGlibcCallsFree) {
  for (uint64_t seed = 1; seed <= 12; ++seed) {
    const uint32_t threads = 1 + static_cast<uint32_t>(seed % 3);
    ReplaySettings settings;
    settings.tunables["glibc.malloc.tcache_count"] = "0";
    const ReplayResult result = Replayed(Events(seed, threads, seed % 2 == 0 ? 300 : 300'000), settings);
    const absl::StatusOr<HolesReport> holes = FindHoles(result, 3);
    ASSERT_TRUE(holes.ok()) << holes.status();
    EXPECT_EQ(holes->system_bytes, result.mallinfo_arena + result.mallinfo_hblkhd);
    EXPECT_EQ(holes->system_bytes, holes->usable_bytes + holes->overhead_bytes + holes->hole_bytes);
    EXPECT_EQ(holes->usable_bytes, result.usable_bytes);
    EXPECT_GE(result.mallinfo_fordblks, holes->hole_bytes) << seed;
    EXPECT_LE(result.mallinfo_fordblks, holes->hole_bytes + 8 * threads) << seed;
  }
}

// A freed block of each of ten sizes stays in the thread's cache: chunks of 32 to 176
// bytes. What is above the cache's reach does not.
TEST(ReplayHeapTest, ThreadCachesAreRead) {
  std::vector<Event> events;
  for (uint64_t i = 0; i < 10; ++i) events.push_back({.address = 0x1000 * (i + 1), .size = 24 + 16 * i});
  events.push_back({.address = 0x100000, .size = 5000});
  events.push_back({.address = 0x200000, .size = 24});
  for (uint64_t i = 0; i < 10; ++i) events.push_back({.address = 0x1000 * (i + 1), .kind = EventKind::kFree});
  events.push_back({.address = 0x100000, .kind = EventKind::kFree});
  const absl::StatusOr<HolesReport> holes = FindHoles(Replayed(events, ReplaySettings()), 0);
  ASSERT_TRUE(holes.ok()) << holes.status();
  ASSERT_TRUE(holes->thread_cache_bytes.has_value());
  EXPECT_EQ(*holes->thread_cache_bytes, 10u * (32 + 176) / 2);
}

// What malloc_trim(0) really returns is the trimmable bytes: here of a main arena
// whose blocks have all been written to.
TEST(ReplayHeapTest, TrimmableIsWhatTrimmingReturns) {
  std::vector<Event> events;
  for (uint64_t i = 0; i < 4000; ++i) events.push_back({.address = 0x10000 * (i + 1), .size = 500 + i % 9 * 1000});
  for (uint64_t i = 0; i < 4000; ++i) {
    if (i % 8 != 0) events.push_back({.address = 0x10000 * (i + 1), .kind = EventKind::kFree});
  }
  ReplaySettings settings;
  settings.touch = Touch::kPages;
  settings.tunables["glibc.malloc.tcache_count"] = "0";
  settings.tunables["glibc.malloc.mxfast"] = "0";
  const ReplayResult before = Replayed(events, settings);
  const ReplayResult after = Replayed(events, settings, /*trim=*/true);
  const absl::StatusOr<HolesReport> holes = FindHoles(before, 0);
  ASSERT_TRUE(holes.ok()) << holes.status();
  ASSERT_GT(holes->trimmable_bytes, 8'000'000u);
  const uint64_t returned = before.resident_bytes - after.resident_bytes;
  // Pages at the top that nobody had touched cannot go.
  EXPECT_LE(returned, holes->trimmable_bytes);
  EXPECT_GE(returned, holes->trimmable_bytes - 300'000);
}

}  // namespace
}  // namespace heaptape
