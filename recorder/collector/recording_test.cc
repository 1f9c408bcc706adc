// What becomes of a trace that there is no room for. A limit on the size of files stands
// for the full disk, and is lifted as somebody would who makes room.

#include "recorder/collector/recording.h"

#include <signal.h>
#include <sys/resource.h>

#include <filesystem>
#include <memory>
#include <string>

#include "gtest/gtest.h"
#include "recorder/collector/made_image.h"
#include "recorder/recorded.h"
#include "testdata/run_program.h"

namespace heaptape {
namespace {

constexpr uint64_t kBlocks = 1000;
constexpr uint64_t kBase = 0x10000;

class RecordingTest : public testing::Test {
 protected:
  RecordingTest()
      : directory_(MakeTestDirectory("recording_test")), trace_path_(directory_ + "/t.heaptape"), image_(MakeImage()) {
    signal(SIGXFSZ, SIG_IGN);
    recording_ = Open();
  }
  ~RecordingTest() override {
    LimitFiles(RLIM_INFINITY);
    std::filesystem::remove_all(directory_);
  }

  std::string MakeImage() const {
    std::filesystem::create_directory(directory_ + "/1.2.0");
    return directory_ + "/1.2.0";
  }
  std::unique_ptr<Recording> Open() const {
    auto recording = Recording::Open(directory_ + "/1.2.0", trace_path_, [](const std::string&) { return nullptr; });
    EXPECT_TRUE(recording.ok()) << recording.status();
    return recording.ok() ? *std::move(recording) : nullptr;
  }

  static void LimitFiles(rlim_t bytes) {
    rlimit limit;
    getrlimit(RLIMIT_FSIZE, &limit);
    limit.rlim_cur = bytes;
    setrlimit(RLIMIT_FSIZE, &limit);
  }
  // The trace can grow no further.
  void FillDisk() const { LimitFiles(std::filesystem::file_size(trace_path_)); }
  static void MakeRoom() { LimitFiles(RLIM_INFINITY); }

  // A segment with a call for each block: allocations, and then their frees, in turn.
  void LogSegment() {
    image_.Take(segments_, 1);
    image_.Log(segments_, Begin(1));
    for (uint64_t i = 0; i < kBlocks; ++i) {
      const uint64_t address = kBase + i * i * 16;
      image_.Log(segments_, segments_ % 2 == 0 ? Malloc(address) : Free(address));
    }
    image_.Fill(segments_++);
  }

  const std::string directory_;
  const std::string trace_path_;
  MadeImage image_;
  std::unique_ptr<Recording> recording_;
  int segments_ = 0;
};

TEST_F(RecordingTest, NothingIsWrittenBehindWhatCouldNotBe) {
  LogSegment();
  recording_->Sync();
  FillDisk();
  LogSegment();
  recording_->Sync();  // these frees are lost
  MakeRoom();
  LogSegment();
  recording_->Sync();
  LogSegment();
  recording_->Finish(0);
  EXPECT_EQ(recording_->summary().lost_calls, 3 * kBlocks);
  EXPECT_NE(recording_->summary().problem, "");

  const Trace trace = ReadTrace(trace_path_);
  EXPECT_EQ(trace.calls(), kBlocks);
  EXPECT_EQ(FindContradictions(trace.events).live_twice, 0);
  EXPECT_FALSE(trace.health.complete);
  EXPECT_EQ(trace.health.lost_events, 3 * kBlocks);
  EXPECT_EQ(trace.footer.end(), "exit 0");
}

TEST_F(RecordingTest, NorByTheNextCollector) {
  LogSegment();
  recording_->Sync();
  FillDisk();
  LogSegment();
  recording_->Drain();  // and the segment is given back
  recording_->Sync();
  recording_ = nullptr;
  MakeRoom();
  LogSegment();
  recording_ = Open();
  ASSERT_NE(recording_, nullptr);
  recording_->Finish(-1);

  const Trace trace = ReadTrace(trace_path_);
  EXPECT_EQ(trace.calls(), kBlocks);
  EXPECT_EQ(FindContradictions(trace.events).live_twice, 0);
  // With the start of the thread, which is as good as new to who came later.
  EXPECT_EQ(trace.health.lost_events, 2 * kBlocks + 1);
}

TEST_F(RecordingTest, WhatWasWrittenWholeGoesOnWithTheNextCollector) {
  LogSegment();
  recording_->Sync();
  recording_ = nullptr;
  LogSegment();
  recording_ = Open();
  ASSERT_NE(recording_, nullptr);
  recording_->Finish(-1);
  const Trace trace = ReadTrace(trace_path_);
  EXPECT_EQ(trace.calls(), 2 * kBlocks);
  EXPECT_TRUE(trace.health.complete);
}

// An empty file would look like a trace, and be in the way of the next attempt.
TEST_F(RecordingTest, ATraceWithoutItsHeaderIsNotLeftBehind) {
  const std::string path = directory_ + "/u.heaptape";
  LimitFiles(0);
  EXPECT_FALSE(TraceWriter::Create(path, Header()).ok());
  MakeRoom();
  EXPECT_FALSE(std::filesystem::exists(path));
}

}  // namespace
}  // namespace heaptape
