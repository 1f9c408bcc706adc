// TraceWriter and TraceReader together: what is written comes back, and damage
// costs what it touches and is told.

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <fstream>
#include <random>
#include <sstream>
#include <string>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_join.h"
#include "gtest/gtest.h"
#include "proto/random_events.h"
#include "proto/trace_reader.h"
#include "proto/trace_writer.h"

namespace heaptape {
namespace {

class TraceFileTest : public testing::Test {
 protected:
  TraceFileTest() : path_(testing::TempDir() + "/trace_file_test.heaptape") { unlink(path_.c_str()); }
  ~TraceFileTest() override { unlink(path_.c_str()); }

  // Writes `batches` batches of 1000 events and, if `close`, a footer.
  void Write(int batches, bool close = true) {
    Header header;
    header.set_version(kTraceVersion);
    header.set_program("toy");
    auto writer = TraceWriter::Create(path_, header);
    ASSERT_TRUE(writer.ok()) << writer.status();
    for (int i = 0; i < batches; ++i) {
      RandomEventsOptions options;
      options.seed = static_cast<uint64_t>(i) + 1;
      options.count = 1000;
      for (const Event& event : RandomEvents(options)) {
        ASSERT_TRUE((*writer)->Append(event).ok());
        events_.push_back(event);
      }
      ASSERT_TRUE((*writer)->Flush().ok());
      frame_ends_.push_back((*writer)->bytes_written());
    }
    if (close) {
      ASSERT_TRUE((*writer)->Close(Footer()).ok());
    }
  }

  std::string Bytes() const {
    std::ifstream file(path_, std::ios::binary);
    std::stringstream bytes;
    bytes << file.rdbuf();
    return bytes.str();
  }
  void SetBytes(const std::string& bytes) { std::ofstream(path_, std::ios::binary) << bytes; }

  // Reads everything; the events that came, and their numbers.
  void Read() {
    read_.clear();
    numbers_.clear();
    auto reader = TraceReader::Open(path_);
    status_ = reader.status();
    if (!reader.ok()) return;
    std::vector<Event> batch;
    while (true) {
      const absl::StatusOr<bool> more = (*reader)->Next(&batch);
      ASSERT_TRUE(more.ok()) << more.status();
      if (!*more) break;
      for (size_t i = 0; i < batch.size(); ++i) {
        numbers_.push_back((*reader)->first_event() + i);
        read_.push_back(batch[i]);
      }
    }
    health_ = (*reader)->health();
    problems_ = absl::StrJoin(health_.problems, "\n");
  }

  // Every event that came is the one written under that number.
  void ExpectTrue() {
    for (size_t i = 0; i < read_.size(); ++i) ASSERT_EQ(read_[i], events_[numbers_[i] - 1]) << numbers_[i];
  }

  const std::string path_;
  std::vector<Event> events_;
  std::vector<uint64_t> frame_ends_;
  std::vector<Event> read_;
  std::vector<uint64_t> numbers_;
  absl::Status status_;
  TraceHealth health_;
  std::string problems_;
};

TEST_F(TraceFileTest, TellsAheadHowManyThereAre) {
  Write(3);
  EXPECT_EQ((*TraceReader::Open(path_))->EventsAhead(), 3000u);
  // Not that of a file without its end, or with something behind it.
  const std::string whole = Bytes();
  SetBytes(whole.substr(0, frame_ends_.back()));
  EXPECT_EQ((*TraceReader::Open(path_))->EventsAhead(), 0u);
  SetBytes(whole + "x");
  EXPECT_EQ((*TraceReader::Open(path_))->EventsAhead(), 0u);
}

TEST_F(TraceFileTest, WhatIsWrittenComesBack) {
  Write(5);
  Read();
  EXPECT_EQ(read_, events_);
  EXPECT_TRUE(health_.complete) << problems_;
  EXPECT_EQ(health_.last_event, 5000u);
  EXPECT_EQ(health_.lost_events, 0u);
}

TEST_F(TraceFileTest, IsPrivateAndNeverOverwritten) {
  Write(1);
  struct stat info;
  ASSERT_EQ(stat(path_.c_str(), &info), 0);
  EXPECT_EQ(info.st_mode & 0777, 0600u);
  EXPECT_EQ(TraceWriter::Create(path_, Header()).status().code(), absl::StatusCode::kAlreadyExists);
}

TEST_F(TraceFileTest, WithoutAFooterItSaysHowFarItIsComplete) {
  Write(3, /*close=*/false);
  Read();
  EXPECT_EQ(read_, events_);
  EXPECT_FALSE(health_.complete);
  EXPECT_TRUE(absl::StrContains(problems_, "complete up to event 3000")) << problems_;
}

TEST_F(TraceFileTest, EveryTornTailYieldsTheWholeFramesBeforeIt) {
  Write(4);
  const std::string bytes = Bytes();
  for (size_t size = frame_ends_[0]; size < bytes.size(); size += 37) {
    SetBytes(bytes.substr(0, size));
    Read();
    ASSERT_TRUE(status_.ok());
    size_t whole = 0;
    while (whole < frame_ends_.size() && frame_ends_[whole] <= size) ++whole;
    ASSERT_EQ(read_.size(), whole * 1000) << size;
    ExpectTrue();
    EXPECT_FALSE(health_.complete);
  }
}

TEST_F(TraceFileTest, AFlippedByteCostsItsFrameAndIsReported) {
  Write(4);
  const std::string bytes = Bytes();
  for (size_t at = frame_ends_[1]; at < frame_ends_[2]; at += 11) {
    std::string damaged = bytes;
    damaged[at] = static_cast<char>(damaged[at] ^ 0x10);
    SetBytes(damaged);
    Read();
    ASSERT_TRUE(status_.ok());
    ExpectTrue();
    ASSERT_EQ(read_.size(), 3000u) << at;
    EXPECT_EQ(health_.lost_events, 1000u);
    EXPECT_TRUE(absl::StrContains(problems_, "events 2001 to 3000 are lost")) << problems_;
    EXPECT_TRUE(absl::StrContains(problems_, "at offset")) << problems_;
  }
}

// Thousands of files, each broken in some way: what is delivered is true, and
// what is missing is told.
TEST_F(TraceFileTest, RandomDamageIsSurvivedAndTold) {
  Write(4);
  const std::string bytes = Bytes();
  std::mt19937_64 random(7);
  const auto below = [&random](size_t n) { return static_cast<size_t>(random() % n); };
  int refused = 0;
  for (int i = 0; i < 4000; ++i) {
    std::string damaged = bytes;
    for (size_t hits = 1 + below(3); hits > 0 && !damaged.empty(); --hits) {
      const size_t at = below(damaged.size());
      const size_t length = 1 + below(damaged.size() - at);
      switch (below(7)) {
        case 0: damaged[at] = static_cast<char>(random()); break;
        case 1: damaged[at] = static_cast<char>(damaged[at] ^ (1 << below(8))); break;
        case 2: damaged.resize(at); break;
        case 3: damaged.erase(at, length); break;
        case 4: damaged.insert(at, damaged.substr(below(damaged.size()), 1 + below(5000))); break;
        case 5: damaged.replace(at, std::min<size_t>(length, 600), std::min<size_t>(length, 600), '\0'); break;
        case 6: damaged.insert(at, "\x28\xB5\x2F\xFD"); break;
      }
    }
    SetBytes(damaged);
    Read();
    if (!status_.ok()) {
      ++refused;
      ASSERT_FALSE(absl::StrContains(status_.message(), "\n")) << i;
      continue;
    }
    ASSERT_NO_FATAL_FAILURE(ExpectTrue()) << i;
    if (health_.complete) {
      ASSERT_EQ(read_.size(), events_.size()) << i;
    } else {
      ASSERT_FALSE(problems_.empty()) << i;
    }
    ASSERT_GE(read_.size() + health_.lost_events, health_.last_event) << i;
  }
  // Most of the file is not its header.
  EXPECT_LT(refused, 2000);
}

TEST_F(TraceFileTest, OtherFilesAreRefusedInOneLine) {
  SetBytes("");
  Read();
  EXPECT_TRUE(absl::StrContains(status_.message(), "empty")) << status_;

  std::mt19937_64 random(1);
  std::string noise(100000, 0);
  for (char& c : noise) c = static_cast<char>(random());
  SetBytes(noise);
  Read();
  EXPECT_EQ(status_.code(), absl::StatusCode::kInvalidArgument);
  EXPECT_TRUE(absl::StrContains(status_.message(), path_)) << status_;
  EXPECT_FALSE(absl::StrContains(status_.message(), "\n"));

  unlink(path_.c_str());
  Read();
  EXPECT_EQ(status_.code(), absl::StatusCode::kNotFound);
}

TEST_F(TraceFileTest, ANewerVersionIsRefused) {
  Header header;
  header.set_version(kCompactTraceVersion + 1);
  ASSERT_TRUE(TraceWriter::Create(path_, header).ok());
  Read();
  EXPECT_EQ(status_.code(), absl::StatusCode::kInvalidArgument);
  EXPECT_TRUE(absl::StrContains(status_.message(), "newer")) << status_;
}

TEST_F(TraceFileTest, AnUnfinishedTraceIsGoneOnWith) {
  Write(2, /*close=*/false);
  SetBytes(Bytes() + "torn");
  auto reader = TraceReader::Open(path_);
  ASSERT_TRUE(reader.ok());
  std::vector<Event> batch;
  while (*(*reader)->Next(&batch)) {
  }
  auto writer = TraceWriter::Resume(path_, frame_ends_.back(), (*reader)->health().last_event);
  ASSERT_TRUE(writer.ok()) << writer.status();
  RandomEventsOptions options;
  options.count = 10;
  for (const Event& event : RandomEvents(options)) {
    ASSERT_TRUE((*writer)->Append(event).ok());
    events_.push_back(event);
  }
  ASSERT_TRUE((*writer)->Close(Footer()).ok());
  Read();
  EXPECT_EQ(read_, events_);
  EXPECT_TRUE(health_.complete) << problems_;
}

TEST_F(TraceFileTest, AFullDiskLeavesWholeFrames) {
  const int fd = open("/dev/full", O_WRONLY);
  if (fd < 0) GTEST_SKIP() << "no /dev/full here";
  FrameWriter frames(fd, 1);
  PackedRecord record;
  record.mutable_header()->set_program("x");
  frames.Add(record);
  const absl::Status status = frames.Flush();
  EXPECT_EQ(status.code(), absl::StatusCode::kResourceExhausted) << status;
  close(fd);
}

}  // namespace
}  // namespace heaptape
