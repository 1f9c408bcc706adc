#include "analysis/sweep.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <fstream>
#include <iterator>
#include <memory>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "analysis/sweep_journal.h"
#include "analysis/sweep_json.h"
#include "gtest/gtest.h"
#include "replayer/driver/event_source.h"

namespace heaptape {
namespace {

constexpr uint64_t kHangs = 4242, kCrashes = 4343;  // faulty_malloc.cc

// Large blocks with a small one behind each; the large ones are freed.
std::vector<Event> Pinned(uint64_t odd_size) {
  std::vector<Event> events;
  for (uint64_t i = 1; i <= 200; ++i) {
    events.push_back({.address = 32 * i, .size = 200'000 + 1000 * (i % 7), .kind = EventKind::kMalloc});
    events.push_back({.address = 32 * i + 16, .size = 100, .kind = EventKind::kMalloc});
    if (i > 10) events.push_back({.address = 32 * (i - 10), .kind = EventKind::kFree});
  }
  events.push_back({.address = 16, .size = odd_size, .kind = EventKind::kMalloc});
  return events;
}

std::unique_ptr<Replayer> ReplayerOf(const std::vector<Event>& events) {
  auto replayer = Replayer::Create(EventsInMemory(Header(), events));
  EXPECT_TRUE(replayer.ok()) << replayer.status();
  return *std::move(replayer);
}

SweepPoint Arenas(int count) {
  SweepPoint point;
  point.tunables["glibc.malloc.arena_max"] = absl::StrCat(count);
  return point;
}

SweepPoint Faulty() {
  SweepPoint point;
  point.allocator = absl::StrCat(std::getenv("TEST_SRCDIR"), "/heaptape/testdata/programs/libfaulty_malloc.so");
  return point;
}

SweepPoint Trim() {
  SweepPoint point;
  point.trim_at_end = true;
  return point;
}

SweepOptions Touched(unsigned jobs) {
  SweepOptions options;
  options.settings.touch = Touch::kPages;
  options.jobs = jobs;
  options.patience = std::chrono::seconds(1);
  return options;
}

void ExpectSame(const SweepRow& a, const SweepRow& b) {
  EXPECT_EQ(a.point, b.point);
  EXPECT_EQ(a.failure, b.failure);
  EXPECT_EQ(a.digest, b.digest) << PointName(a.point);
  EXPECT_EQ(a.peak, b.peak) << PointName(a.point);
  EXPECT_EQ(a.end, b.end) << PointName(a.point);
  EXPECT_EQ(Total(a.syscalls), Total(b.syscalls)) << PointName(a.point);
}

TEST(SweepTest, EachPointOnceAndWhatASingleReplaySays) {
  const auto replayer = ReplayerOf(Pinned(1));
  const absl::StatusOr<Sweep> sweep =
      RunSweep(replayer.get(), {Arenas(1), FreezeProbe(), Arenas(1), Trim()}, Touched(2));
  ASSERT_TRUE(sweep.ok()) << sweep.status();
  ASSERT_EQ(sweep->rows.size(), 4u);
  EXPECT_FALSE(sweep->stopped);
  for (const SweepRow& row : sweep->rows) {
    ASSERT_TRUE(row.ok()) << row.failure;
    ReplaySettings settings;
    settings.touch = Touch::kPages;
    settings.tunables = row.point.tunables;
    settings.trim_at_end = row.point.trim_at_end;
    const absl::StatusOr<ReplayResult> single = replayer->Run(settings);
    ASSERT_TRUE(single.ok()) << single.status();
    EXPECT_EQ(row.digest, single->digest);
    EXPECT_EQ(row.end.system, single->system_bytes);
    EXPECT_EQ(row.end.resident, single->resident_bytes);
    EXPECT_EQ(row.peak.system, single->peak_system.bytes);
  }
  const SweepRow& recorded = sweep->rows[0];
  const SweepRow& frozen = sweep->rows[1];
  EXPECT_EQ(recorded.point, SweepPoint());
  EXPECT_EQ(frozen.point, FreezeProbe());
  EXPECT_LT(frozen.end.resident, recorded.end.resident);
  EXPECT_LT(sweep->rows[3].end.resident, recorded.end.resident);
  EXPECT_EQ(sweep->facts.frozen->system_bytes, frozen.end.system);
  EXPECT_EQ(sweep->facts.one_arena->system_bytes, sweep->rows[2].end.system);
  EXPECT_FALSE(sweep->facts.no_thread_cache.has_value()) << "nobody asked";
}

TEST(SweepTest, JobsChangeNothing) {
  const auto replayer = ReplayerOf(Pinned(1));
  const std::vector<SweepPoint> points = {Arenas(1), Arenas(2), Trim()};
  const absl::StatusOr<Sweep> one = RunSweep(replayer.get(), points, Touched(1));
  const absl::StatusOr<Sweep> many = RunSweep(replayer.get(), points, Touched(5));
  ASSERT_TRUE(one.ok() && many.ok());
  ASSERT_EQ(one->rows.size(), many->rows.size());
  for (size_t i = 0; i < one->rows.size(); ++i) ExpectSame(one->rows[i], many->rows[i]);
}

TEST(SweepTest, ACrashIsTheResultOfItsRow) {
  const auto replayer = ReplayerOf(Pinned(kCrashes));
  std::vector<std::string> told;
  const absl::StatusOr<Sweep> sweep = RunSweep(replayer.get(), {Faulty(), Arenas(1)}, Touched(2),
                                               [&told](const SweepRow& row) { told.push_back(PointName(row.point)); });
  ASSERT_TRUE(sweep.ok()) << sweep.status();
  EXPECT_FALSE(sweep->rows[2].ok());
  EXPECT_NE(sweep->rows[2].failure.find("signal 4"), std::string::npos) << sweep->rows[2].failure;
  EXPECT_TRUE(sweep->rows[3].ok()) << sweep->rows[3].failure;
  EXPECT_EQ(told.size(), 4u);
}

TEST(SweepTest, AHangIsTheResultOfItsRow) {
  const auto replayer = ReplayerOf(Pinned(kHangs));
  const absl::StatusOr<Sweep> sweep = RunSweep(replayer.get(), {Faulty(), Arenas(1)}, Touched(2));
  ASSERT_TRUE(sweep.ok()) << sweep.status();
  EXPECT_TRUE(absl::StartsWith(sweep->rows[2].failure, "hangs: nothing more for 1 s")) << sweep->rows[2].failure;
  EXPECT_TRUE(sweep->rows[3].ok()) << sweep->rows[3].failure;
}

TEST(SweepTest, WhatCannotBeReplayedAtAllIsAnError) {
  const auto replayer = Replayer::Create(TraceFile("/dev/null"));
  EXPECT_FALSE(replayer.ok());
}

TEST(SweepTest, StopsWhenTold) {
  const auto replayer = ReplayerOf(Pinned(1));
  int rows = 0;
  const absl::StatusOr<Sweep> sweep = RunSweep(
      replayer.get(), {Arenas(1), Arenas(2), Arenas(3)}, Touched(1), [&rows](const SweepRow&) { ++rows; },
      [&rows](const ReplayPosition&) { return rows < 2; });
  ASSERT_TRUE(sweep.ok()) << sweep.status();
  EXPECT_TRUE(sweep->stopped);
  EXPECT_TRUE(sweep->rows[0].ok());
  EXPECT_EQ(sweep->rows.back().failure, "not done: the sweep was stopped");
}

class JournalTest : public testing::Test {
 protected:
  JournalTest() { unlink(path_.c_str()); }

  std::unique_ptr<SweepJournal> Open(const std::string& about) {
    absl::StatusOr<std::unique_ptr<SweepJournal>> journal = SweepJournal::Open(path_, {{"about", about}});
    EXPECT_TRUE(journal.ok()) << journal.status();
    return journal.ok() ? *std::move(journal) : nullptr;
  }

  const std::string path_ = absl::StrCat(testing::TempDir(), "/journal.", getpid());
};

TEST_F(JournalTest, ASweepGoesOnWhereItWasEnded) {
  const auto replayer = ReplayerOf(Pinned(1));
  const std::vector<SweepPoint> points = {Arenas(1), Arenas(2), Faulty()};
  const absl::StatusOr<Sweep> whole = RunSweep(replayer.get(), points, Touched(1));
  ASSERT_TRUE(whole.ok());
  {
    const auto journal = Open("this");
    for (size_t i = 1; i < 3; ++i) journal->Add(whole->rows[i]);
  }
  SweepOptions options = Touched(1);
  options.known = Open("this")->known();
  ASSERT_EQ(options.known.size(), 2u);
  for (size_t i = 0; i < 2; ++i) ExpectSame(options.known[i], whole->rows[i + 1]);
  std::vector<std::string> replayed;
  const absl::StatusOr<Sweep> rest = RunSweep(replayer.get(), points, options, [&replayed](const SweepRow& row) {
    replayed.push_back(PointName(row.point));
  });
  ASSERT_TRUE(rest.ok());
  EXPECT_EQ(replayed, (std::vector<std::string>{"as recorded", PointName(Arenas(2)), PointName(Faulty())}));
  ASSERT_EQ(rest->rows.size(), whole->rows.size());
  for (size_t i = 0; i < rest->rows.size(); ++i) ExpectSame(rest->rows[i], whole->rows[i]);
}

TEST_F(JournalTest, ATornLineIsARowNotDone) {
  SweepRow row;
  row.point = Arenas(1);
  row.end.system = 77;
  {
    const auto journal = Open("this");
    journal->Add(row);
    row.point = Arenas(2);
    row.failure = "crashed";
    journal->Add(row);
  }
  std::ifstream in(path_);
  const std::string text((std::istreambuf_iterator<char>(in)), std::istreambuf_iterator<char>());
  for (size_t cut = 0; cut <= text.size(); ++cut) {
    std::ofstream(path_, std::ios::trunc) << text.substr(0, cut);
    const auto journal = Open("this");
    const size_t lines = static_cast<size_t>(std::count(text.begin(), text.begin() + static_cast<long>(cut), '\n'));
    ASSERT_EQ(journal->known().size(), lines == 0 ? 0 : lines - 1) << cut;
    journal->Add(row);
  }
  EXPECT_EQ(Open("this")->known().size(), 3u);
  EXPECT_EQ(Open("that")->known().size(), 0u) << "of another sweep";
  EXPECT_EQ(Open("this")->known().size(), 0u) << "which has begun it anew";
}

TEST_F(JournalTest, OneSweepAtATime) {
  const auto journal = Open("this");
  const auto second = SweepJournal::Open(path_, {{"about", "this"}});
  ASSERT_FALSE(second.ok());
  EXPECT_EQ(second.status().message(), absl::StrCat(path_, ": another sweep of this trace is under way"));
  journal->Remove();
  EXPECT_NE(access(path_.c_str(), F_OK), 0);
}

TEST(SweepJsonTest, ARowIsReadBack) {
  SweepRow row;
  row.point = Arenas(3);
  row.peak = {1, 2, 3, 4};
  row.end = {5, 6, 7, 8};
  row.digest = ~uint64_t{0};
  row.syscalls = {.brk = 9, .mmap = 10, .munmap = 11, .mremap = 12, .mprotect = 13, .madvise = 14};
  row.replay_seconds = 1.25;
  const absl::StatusOr<SweepRow> read = ParseSweepRow(SweepRowJson(row));
  ASSERT_TRUE(read.ok()) << read.status();
  ExpectSame(*read, row);
  EXPECT_EQ(read->replay_seconds, 1.25);
  EXPECT_EQ(SweepRowJson(*read), SweepRowJson(row));
  for (const char* wrong : {"{}", "[]", "1", "{\"settings\":{}}"}) {
    EXPECT_FALSE(ParseSweepRow(nlohmann::ordered_json::parse(wrong)).ok()) << wrong;
  }
}

}  // namespace
}  // namespace heaptape
