// The merger on segments written by hand: what it must put in order, what it
// must wait for, and what it must not believe.

#include "recorder/collector/merger.h"

#include <filesystem>
#include <memory>
#include <vector>

#include "gtest/gtest.h"
#include "recorder/collector/made_image.h"
#include "recorder/wire/call.h"
#include "recorder/wire/session.h"
#include "testdata/run_program.h"

namespace heaptape {
namespace {

using wire::Tag;

class MergerTest : public testing::Test, protected MadeImage {
 protected:
  MergerTest() : MadeImage(MakeTestDirectory("merger_test")), image_(*Image::Open(directory_)) {
    merger_ = std::make_unique<Merger>(image_.get(), 1000, &events_, [] {});
  }
  ~MergerTest() override { std::filesystem::remove_all(directory_); }

  // Allocations as their address, frees as its negative, all else left out.
  std::vector<int64_t> Calls() const {
    std::vector<int64_t> calls;
    for (const Event& event : events_) {
      if (event.kind == EventKind::kMalloc) calls.push_back(static_cast<int64_t>(event.address));
      if (event.kind == EventKind::kFree) calls.push_back(-static_cast<int64_t>(event.address));
    }
    return calls;
  }

  using List = std::vector<int64_t>;

  const std::unique_ptr<Image> image_;
  std::vector<Event> events_;
  std::unique_ptr<Merger> merger_;
};

TEST_F(MergerTest, RunsOfSeveralThreadsComeInTheirOrder) {
  Take(0, 1);
  Take(1, 2);
  for (uint64_t word : {Begin(1), Malloc(0x10), Begin(3), Malloc(0x30)}) Log(0, word);
  for (uint64_t word : {Begin(2), Malloc(0x20), Free(0x10), Begin(4), Free(0x30)}) Log(1, word);
  control_->ticket = 4;
  merger_->Round(/*last=*/false);
  EXPECT_EQ(Calls(), (List{0x10, 0x20, -0x10, 0x30, -0x30}));
  EXPECT_EQ(events_[0].kind, EventKind::kThreadStart);
  EXPECT_EQ(events_[0].size, 1001u);
}

TEST_F(MergerTest, RunsThatAreNewerThanTheCutWait) {
  Take(0, 1);
  for (uint64_t word : {Begin(1), Malloc(0x10), Begin(3), Malloc(0x30)}) Log(0, word);
  control_->ticket = 2;
  merger_->Round(false);
  EXPECT_EQ(Calls(), (List{0x10}));
  control_->ticket = 3;
  merger_->Round(false);
  EXPECT_EQ(Calls(), (List{0x10, 0x30}));
}

// The number was drawn, and the thread was killed: nobody waits for it.
TEST_F(MergerTest, ARunThatNeverAppearsIsNotWaitedFor) {
  Take(0, 1);
  for (uint64_t word : {Begin(1), Malloc(0x10), Begin(3), Malloc(0x30)}) Log(0, word);
  control_->ticket = 3;
  merger_->Round(false);
  EXPECT_EQ(Calls(), (List{0x10, 0x30}));
}

TEST_F(MergerTest, ARunGoesOnInTheNextSegment) {
  Take(0, 1);
  for (uint64_t word : {Begin(1), Malloc(0x10)}) Log(0, word);
  Fill(0);
  Take(1, 1);
  for (uint64_t word : {Begin(1), Malloc(0x20)}) Log(1, word);
  control_->ticket = 1;
  merger_->Round(false);
  EXPECT_EQ(Calls(), (List{0x10, 0x20}));
}

// The second segment of the newest run has been seen, the first is not yet known
// to be whole: what stands in the second may lie behind more in the first.
TEST_F(MergerTest, TheNewestRunIsNotTakenPastAnUnfinishedSegment) {
  Take(0, 1);
  for (uint64_t word : {Begin(1), Malloc(0x10)}) Log(0, word);
  Take(1, 1);
  for (uint64_t word : {Begin(1), Malloc(0x30)}) Log(1, word);
  control_->ticket = 1;
  merger_->Round(false);
  EXPECT_EQ(Calls(), (List{0x10}));
  Log(0, Malloc(0x20));
  Fill(0);
  merger_->Round(false);
  EXPECT_EQ(Calls(), (List{0x10, 0x20, 0x30}));
}

TEST_F(MergerTest, ACallThatWasOvertakenComesLate) {
  Take(0, 1);
  for (uint64_t word : {Begin(1), Malloc(0x10)}) Log(0, word);
  Leave(0);  // a signal handler came before the store
  Log(0, Malloc(0x30));
  control_->ticket = 1;
  merger_->Round(false);
  EXPECT_EQ(Calls(), (List{0x10, 0x30}));
  Segment(0)->words[2] = Malloc(0x20);
  merger_->Round(false);
  EXPECT_EQ(Calls(), (List{0x10, 0x30, 0x20}));
}

// It may still be written to, so it must not be given to another thread.
TEST_F(MergerTest, ASegmentWithAGapIsNeverGivenBack) {
  Take(0, 1);
  Log(0, Begin(1));
  Leave(0);
  Log(0, Malloc(0x30));
  Fill(0);
  Take(1, 2);
  for (uint64_t word : {Begin(2), Malloc(0x40)}) Log(1, word);
  Fill(1);
  control_->ticket = 2;
  merger_->Round(false);
  EXPECT_EQ(merger_->finished_segments(), 1u);
  merger_->Recycle();
  EXPECT_EQ(spool_->segments[0].state, static_cast<uint32_t>(wire::SegmentState::kKept));
  EXPECT_EQ(spool_->segments[1].state, static_cast<uint32_t>(wire::SegmentState::kFree));
  EXPECT_EQ(Segment(1)->words[1], 0u);
  Segment(0)->words[1] = Malloc(0x20);
  merger_->Round(false);
  merger_->Recycle();
  EXPECT_EQ(spool_->segments[0].state, static_cast<uint32_t>(wire::SegmentState::kFree));
}

TEST_F(MergerTest, AReallocIsOneEventUnlessOthersComeBetween) {
  const auto release = [](uint64_t address) { return wire::ShortCall(Tag::kRelease, address, 0); };
  const auto acquire = [](uint64_t address) { return wire::ShortCall(Tag::kAcquire, address, 200); };
  Take(0, 1);
  Take(1, 2);
  for (uint64_t word : {Begin(1), Malloc(0x10), release(0x10), acquire(0x20), release(0x20)}) Log(0, word);
  for (uint64_t word : {Begin(2), Malloc(0x30)}) Log(1, word);
  for (uint64_t word : {Begin(3), acquire(0x20)}) Log(0, word);
  control_->ticket = 3;
  merger_->Round(false);
  std::vector<EventKind> kinds;
  for (const Event& event : events_) kinds.push_back(event.kind);
  EXPECT_EQ(kinds, (std::vector<EventKind>{EventKind::kThreadStart, EventKind::kMalloc, EventKind::kRealloc,
                                           EventKind::kReallocBegin, EventKind::kThreadStart, EventKind::kMalloc,
                                           EventKind::kReallocEnd}));
}

TEST_F(MergerTest, AnotherMergerGoesOnWhereOneStopped) {
  Take(0, 1);
  for (uint64_t word : {Begin(1), Malloc(0x10), wire::ShortCall(Tag::kRelease, 0x10, 0)}) Log(0, word);
  control_->ticket = 1;
  merger_->Round(false);
  const std::vector<SegmentPosition> positions = merger_->Positions();
  events_.clear();
  merger_ = std::make_unique<Merger>(image_.get(), 1000, &events_, [] {});
  merger_->Resume(positions, 1);
  for (uint64_t word : {wire::ShortCall(Tag::kAcquire, 0x20, 9), Free(0x20)}) Log(0, word);
  merger_->Round(/*last=*/true);
  ASSERT_EQ(events_.size(), 2u);
  EXPECT_EQ(events_[0].kind, EventKind::kRealloc);  // its release had been held back
  EXPECT_EQ(events_[0].old_address, 0x10u);
  EXPECT_EQ(events_[1].kind, EventKind::kFree);
}

// Whatever a program writes over its segments, the merger ends, and stays inside.
TEST_F(MergerTest, NonsenseIsCountedAndNeverBelieved) {
  uint64_t state = 1;
  for (int index = 0; index < 15; ++index) {
    Take(index, static_cast<uint32_t>(index));
    for (uint64_t& word : Segment(index)->words) {
      state = state * 6364136223846793005u + 1442695040888963407u;
      word = state >> 61 == 0 ? 0 : state ^ state >> 29;
    }
    spool_->segments[index].limit = static_cast<uint32_t>(state);
    if (index % 2 == 0) spool_->segments[index].state = static_cast<uint32_t>(wire::SegmentState::kFull);
  }
  control_->spool_count = 0xffffffff;
  control_->ticket = ~uint64_t{0};
  merger_->Round(false);
  merger_->Recycle();
  merger_->Round(true);
  EXPECT_GT(merger_->damaged_words(), 0u);
}

}  // namespace
}  // namespace heaptape
