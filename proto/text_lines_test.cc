#include "proto/text_lines.h"

#include <unistd.h>

#include <cstdlib>
#include <fstream>
#include <string>
#include <vector>

#include "absl/strings/match.h"
#include "gtest/gtest.h"

namespace heaptape {
namespace {

class TextLinesTest : public testing::Test {
 protected:
  TextLinesTest() : path_(testing::TempDir() + "/text_lines_test.txt") {}
  ~TextLinesTest() override { unlink(path_.c_str()); }

  void Write(const std::string& bytes) { std::ofstream(path_, std::ios::binary) << bytes; }

  std::vector<std::string> Read(const std::string& path) {
    std::vector<std::string> result;
    auto lines = TextLines::Open(path);
    status_ = lines.status();
    if (!lines.ok()) return result;
    std::string_view line;
    while (true) {
      const absl::StatusOr<bool> more = (*lines)->Next(&line);
      status_ = more.status();
      if (!more.ok() || !*more) return result;
      result.emplace_back(line);
      EXPECT_EQ((*lines)->line_number(), result.size());
    }
  }

  const std::string path_;
  absl::Status status_;
};

TEST_F(TextLinesTest, LinesAndTheirEnds) {
  Write("one\ntwo\r\n\nlast");
  EXPECT_EQ(Read(path_), (std::vector<std::string>{"one", "two", "", "last"}));
  Write("one\n");
  EXPECT_EQ(Read(path_), (std::vector<std::string>{"one"}));
  Write("");
  EXPECT_TRUE(Read(path_).empty());
  EXPECT_TRUE(status_.ok()) << status_;
}

TEST_F(TextLinesTest, LongFilesAndLines) {
  std::vector<std::string> expected;
  std::string bytes;
  for (size_t i = 0; i < 3000; ++i) {
    expected.push_back(std::string(i % 997, 'x') + std::to_string(i));
    bytes += expected.back() + "\n";
  }
  expected.push_back(std::string(600'000, 'y'));
  Write(bytes + expected.back());
  EXPECT_EQ(Read(path_), expected);
  Write(std::string(3 << 20, 'z'));
  Read(path_);
  EXPECT_TRUE(absl::StrContains(status_.message(), ":1: a line of more than 1 MiB")) << status_;
}

TEST_F(TextLinesTest, CompressedCopies) {
  Write("one\ntwo\n");
  for (const std::string command : {"gzip", "zstd -q", "xz"}) {
    const std::string copy = path_ + ".packed";
    unlink(copy.c_str());
    if (std::system((command + " -c " + path_ + " > " + copy).c_str()) != 0) continue;  // not installed
    EXPECT_EQ(Read(copy), (std::vector<std::string>{"one", "two"})) << command << ": " << status_;
    unlink(copy.c_str());
  }
}

TEST_F(TextLinesTest, ADamagedCopyIsAnError) {
  std::string bytes;
  for (uint64_t i = 0; i < 300'000; ++i) bytes += std::to_string(i * i * i) + "\n";
  Write(bytes);
  const std::string copy = path_ + ".gz";
  ASSERT_EQ(std::system(("gzip -c " + path_ + " | head -c 1200000 > " + copy).c_str()), 0);
  Read(copy);
  EXPECT_EQ(status_.code(), absl::StatusCode::kDataLoss) << status_;
  EXPECT_TRUE(absl::StrContains(status_.message(), copy + ": damaged after line ")) << status_;
  unlink(copy.c_str());
}

TEST_F(TextLinesTest, AMissingFile) {
  Read(path_ + ".none");
  EXPECT_EQ(status_.code(), absl::StatusCode::kNotFound);
}

}  // namespace
}  // namespace heaptape
