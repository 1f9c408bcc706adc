#include "proto/android_text.h"

#include <cstdlib>
#include <string>
#include <vector>

#include "gtest/gtest.h"
#include "proto/event.h"
#include "proto/text_lines.h"

namespace heaptape {
namespace {

// The events of `lines`, each of which must parse.
std::vector<Event> Events(const std::vector<std::string>& lines) {
  AndroidTextParser parser;
  std::vector<Event> events;
  for (const std::string& line : lines) {
    const absl::Status status = parser.Parse(line, &events);
    EXPECT_TRUE(status.ok()) << line << ": " << status;
  }
  return events;
}

std::string Complaint(const std::string& line) {
  AndroidTextParser parser;
  std::vector<Event> events;
  const absl::Status status = parser.Parse(line, &events);
  EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument) << line;
  EXPECT_TRUE(events.empty()) << line;
  return std::string(status.message());
}

Event Start(uint32_t thread, uint64_t id) {
  return {.size = id, .thread = thread, .kind = EventKind::kThreadStart};
}

TEST(AndroidTextTest, EveryOperation) {
  const std::vector<Event> expected = {
      Start(0, 186),
      {.address = 0xb6027400, .size = 1024},
      {.address = 0xb6003090, .size = 136, .kind = EventKind::kCalloc},
      {.address = 0xae42d080, .size = 104, .kind = EventKind::kMemalign, .alignment_log2 = 4},
      {.address = 0xb603d060, .old_address = 0xb6037838, .size = 25, .kind = EventKind::kRealloc},
      {.address = 0xb603d080, .old_address = 0, .size = 25, .kind = EventKind::kRealloc},
      {.address = 0xb603d060, .kind = EventKind::kFree},
      {.address = 0, .kind = EventKind::kFree},
      {.kind = EventKind::kThreadEnd},
  };
  EXPECT_EQ(Events({"186: malloc 0xb6027400 1024", "186: calloc 0xb6003090 17 8", "186: memalign 0xae42d080 16 104",
                    "186: realloc 0xb603d060 0xb6037838 25", "186: realloc 0xb603d080 0x0 25", "186: free 0xb603d060",
                    "186: free 0x0", "186: thread_done 0x0"}),
            expected);
}

TEST(AndroidTextTest, ThreadsAreNumberedAndAnIdMayComeBack) {
  const std::vector<Event> expected = {
      Start(0, 9),
      {.address = 0x10, .size = 1, .thread = 0},
      Start(1, 4),
      {.address = 0x20, .size = 1, .thread = 1},
      {.thread = 1, .kind = EventKind::kThreadEnd},
      {.address = 0x30, .size = 1, .thread = 0},
      Start(2, 4),
      {.address = 0x40, .size = 1, .thread = 2},
  };
  EXPECT_EQ(Events({"9: malloc 0x10 1", "4: malloc 0x20 1", "4: thread_done 0x0", "9: malloc 0x30 1", "",
                    "4: malloc 0x40 1"}),
            expected);
}

TEST(AndroidTextTest, TimesOfNewerFiles) {
  AndroidTextParser parser;
  std::vector<Event> events;
  ASSERT_TRUE(parser.Parse("1: malloc 0x7f0012345670 8 1000 1250", &events).ok());
  EXPECT_EQ(parser.time_ns(), 1250u);
  EXPECT_EQ(parser.greatest_address(), 0x7f0012345670u);
  ASSERT_TRUE(parser.Parse("1: thread_done 0x0 1300", &events).ok());
  EXPECT_EQ(parser.time_ns(), 1300u);
  EXPECT_EQ(parser.calls(), 1u);
  EXPECT_EQ(parser.thread_ends(), 1u);
  EXPECT_EQ(parser.threads(), 1u);
}

TEST(AndroidTextTest, OddSizesAndAlignments) {
  const std::vector<Event> events = Events({"1: calloc 0x0 18446744073709551615 2", "1: memalign 0x40 24 8",
                                            "1: memalign 0x40 0 8", "1: memalign 0x40 1 8"});
  ASSERT_EQ(events.size(), 5u);
  EXPECT_EQ(events[1].size, ~uint64_t{0});
  EXPECT_EQ(events[2].alignment_log2, 5);
  EXPECT_EQ(events[3].alignment_log2, 0);
  EXPECT_EQ(events[4].alignment_log2, 0);
}

TEST(AndroidTextTest, BadLinesSayWhatIsWrong) {
  EXPECT_EQ(Complaint("malloc 0x10 1"), "a line begins with its thread's number and a colon, not with \"malloc\"");
  EXPECT_EQ(Complaint("1: mallok 0x10 1"),
            "expected malloc, calloc, realloc, memalign, free or thread_done, not \"mallok\"");
  EXPECT_EQ(Complaint("1: malloc 10 1"), "expected an address like 0x1f80, not \"10\"");
  EXPECT_EQ(Complaint("1: malloc 0x10 -1"), "expected a number, not \"-1\"");
  EXPECT_EQ(Complaint("1: malloc 0x10"), "the line ends early: malloc lacks an argument");
  EXPECT_EQ(Complaint("1: malloc 0x10 99999999999999999999"), "expected a number, not \"99999999999999999999\"");
  EXPECT_EQ(Complaint("1: free 0x10 5"), "a begin without an end: \"1: free 0x10 5\"");
  EXPECT_EQ(Complaint("1: free 0x10 5 6 7"), "more than the call needs: \"7\"");
  EXPECT_EQ(Complaint(std::string("\x01\x02\n")), "a line begins with its thread's number and a colon, not with "
                                                  "\"\\x01\\x02\\n\"");
}

// Two real traces, where they are at hand.
class RealTraceTest : public testing::Test {
 protected:
  // Parses FILE of the shared directory; the parser then tells of it.
  void Parse(const std::string& file) {
    const char* shared = std::getenv("HEAPTAPE_SHARED");
    if (shared == nullptr) GTEST_SKIP() << "HEAPTAPE_SHARED does not name the directory of real traces";
    const std::string path = std::string(shared) + "/traces/android/" + file;
    auto lines = TextLines::Open(path);
    if (absl::IsNotFound(lines.status())) GTEST_SKIP() << path << " is not there";
    ASSERT_TRUE(lines.ok()) << lines.status();
    std::string_view line;
    std::vector<Event> events;
    while (true) {
      const absl::StatusOr<bool> more = (*lines)->Next(&line);
      ASSERT_TRUE(more.ok()) << more.status();
      if (!*more) break;
      events.clear();
      const absl::Status status = parser_.Parse(line, &events);
      ASSERT_TRUE(status.ok()) << (*lines)->Located(status.message());
    }
  }

  AndroidTextParser parser_;
};

TEST_F(RealTraceTest, Surfaceflinger) {
  Parse("surfaceflinger.zip");
  if (IsSkipped()) return;
  EXPECT_EQ(parser_.calls(), 2455239u);
  EXPECT_EQ(parser_.thread_ends(), 1u);
  EXPECT_EQ(parser_.threads(), 15u);
  EXPECT_LT(parser_.greatest_address(), uint64_t{1} << 32);
}

TEST_F(RealTraceTest, Systemui) {
  Parse("systemui.zip");
  if (IsSkipped()) return;
  EXPECT_EQ(parser_.calls(), 786097u);
  EXPECT_EQ(parser_.thread_ends(), 357u);
  EXPECT_EQ(parser_.threads(), 393u);
}

}  // namespace
}  // namespace heaptape
