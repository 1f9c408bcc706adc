// Why a heap grew, asked of glibc itself.

#include "analysis/growth.h"

#include <string>
#include <vector>

#include "analysis/growth_json.h"
#include "analysis/growth_text.h"
#include "gtest/gtest.h"
#include "replayer/driver/event_source.h"
#include "replayer/driver/replayer.h"

namespace heaptape {
namespace {

// Makes up a trace; addresses are invented, each used once.
class Program {
 public:
  uint64_t Malloc(uint64_t size) { return Make(EventKind::kMalloc, 0, size); }
  uint64_t Realloc(uint64_t old, uint64_t size) { return Make(EventKind::kRealloc, old, size); }
  void Free(uint64_t block) { events_.push_back({.address = block, .kind = EventKind::kFree}); }
  // Calls that change nothing, until `event` is the number of the next one.
  void PassTimeUntil(uint64_t event) {
    while (next_event() + 1 < event) Free(Malloc(24));
    if (next_event() < event) Free(0);
  }
  uint64_t next_event() const { return events_.size() + 1; }
  const std::vector<Event>& events() const { return events_; }

 private:
  uint64_t Make(EventKind kind, uint64_t old, uint64_t size) {
    next_ += 16;
    events_.push_back({.address = next_, .old_address = old, .size = size, .kind = kind});
    return next_;
  }

  std::vector<Event> events_;
  uint64_t next_ = 0;
};

absl::StatusOr<GrowthReport> GrowthOf(const std::vector<Event>& events, const GrowthOptions& options = {}) {
  ReplaySettings settings;
  // As glibc's moving threshold stands once blocks of this size have been freed.
  settings.tunables = {{"glibc.malloc.mmap_threshold", "33554432"}, {"glibc.malloc.trim_threshold", "67108864"},
                       {"glibc.malloc.top_pad", "131072"}};
  const EventSourceFactory trace = EventsInMemory(Header(), events);
  return FindGrowth(
      trace,
      [&](const PlanOptions& plan) -> absl::StatusOr<ReplayResult> {
        const auto replayer = Replayer::Create(trace, plan);
        if (!replayer.ok()) return replayer.status();
        return (*replayer)->Run(settings);
      },
      PlanOptions(), options);
}

// What an engineer once found with a debugger, in days: a small block had been placed
// right behind a buffer, the buffer was freed, and a later one was 339 bytes larger.
class SevenCallsTest : public testing::Test {
 protected:
  static constexpr uint64_t kPinEvent = 1000;
  static constexpr uint64_t kFreeEvent = kPinEvent + 727;
  static constexpr uint64_t kGrowthEvent = kPinEvent + 15'465;

  SevenCallsTest() {
    program_.Free(program_.Malloc(24));
    const uint64_t scratch = program_.Malloc(4'860'000);
    program_.Malloc(40);
    const uint64_t text = program_.Malloc(3'149'900);
    program_.Malloc(40);
    program_.PassTimeUntil(kPinEvent - 1);
    // Its chunk is 8,880,480 bytes, so the block behind begins 13 bytes behind its end.
    const uint64_t buffer = program_.Malloc(8'880'467);
    program_.Malloc(232);
    program_.Free(scratch);
    program_.PassTimeUntil(kFreeEvent);
    program_.Free(buffer);
    program_.PassTimeUntil(kGrowthEvent - 5);
    const uint64_t first = program_.Malloc(4'850'928);
    const uint64_t patched = program_.Realloc(text, 8'000'835);
    program_.Free(first);
    const uint64_t longer = program_.Realloc(patched, 8'000'925);
    const uint64_t second = program_.Malloc(879'931);
    program_.Realloc(longer, 8'880'819);
    program_.Free(second);
  }

  Program program_;
};

TEST_F(SevenCallsTest, NamesTheBlockTheBytesAndTheEvents) {
  const absl::StatusOr<GrowthReport> report = GrowthOf(program_.events());
  ASSERT_TRUE(report.ok()) << report.status();
  EXPECT_EQ(report->up_bytes - report->down_bytes, report->system_bytes);
  const GrowthReason* reason = nullptr;
  for (const GrowthReason& each : report->reasons) {
    if (each.growth.step.event == kGrowthEvent) reason = &each;
  }
  ASSERT_NE(reason, nullptr);
  EXPECT_EQ(reason->growth.call.size, 8'880'819u);
  EXPECT_EQ(reason->wanted_bytes, 8'880'832u);
  EXPECT_EQ(reason->rooms.fitting_count, 0u);
  EXPECT_GT(reason->rooms.hole_bytes, 6'000'000u);

  ASSERT_FALSE(reason->nearest.empty());
  const RoomDetail& nearest = reason->nearest[0];
  EXPECT_EQ(nearest.room.kind, Room::Kind::kInPlace);
  EXPECT_EQ(nearest.room.bytes, 8'880'480u);
  EXPECT_EQ(nearest.room.missing_bytes, 339u);
  EXPECT_EQ(nearest.pinned_by.block.requested_bytes, 232u);
  EXPECT_EQ(nearest.pinned_by.block.event, kPinEvent);

  ASSERT_TRUE(reason->story.has_value());
  const HoleStory& story = *reason->story;
  EXPECT_EQ(story.pin_event, kPinEvent);
  EXPECT_EQ(story.gone_event, kFreeEvent);
  EXPECT_EQ(story.blocks_then, 1u);
  using Role = StoryCall::Role;
  const EventKind malloc = EventKind::kMalloc;
  const EventKind realloc = EventKind::kRealloc;
  const std::vector<StoryCall> calls = {
      {Role::kMade, kPinEvent - 1, 0, malloc, 8'880'467, 0, 0},
      {Role::kPinned, kPinEvent, 0, malloc, 232, 0, 13},
      {Role::kOnTheWay, kPinEvent + 1, 0, EventKind::kFree, 4'860'000, 0, 0},
      {Role::kGone, kFreeEvent, 0, EventKind::kFree, 8'880'467, 0, 0},
      {Role::kOnTheWay, kGrowthEvent - 5, 0, malloc, 4'850'928, 0, 0},
      {Role::kOnTheWay, kGrowthEvent - 4, 0, realloc, 8'000'835, 3'149'900, 0},
      {Role::kOnTheWay, kGrowthEvent - 3, 0, EventKind::kFree, 4'850'928, 0, 0},
      {Role::kOnTheWay, kGrowthEvent - 2, 0, realloc, 8'000'925, 8'000'835, 0},
      {Role::kOnTheWay, kGrowthEvent - 1, 0, malloc, 879'931, 0, 0},
      {Role::kGrew, kGrowthEvent, 0, realloc, 8'880'819, 8'000'925, 0},
  };
  EXPECT_EQ(story.calls, calls);
}

// Larger steps that had nothing to reuse do not hide it.
TEST_F(SevenCallsTest, StepsThatHadRoomComeFirst) {
  const absl::StatusOr<GrowthReport> report = GrowthOf(program_.events(), {.explained = 1});
  ASSERT_TRUE(report.ok()) << report.status();
  ASSERT_EQ(report->reasons.size(), 1u);
  EXPECT_EQ(report->reasons[0].growth.step.event, kGrowthEvent);
}

TEST_F(SevenCallsTest, ReadsLikeTheEngineersList) {
  const absl::StatusOr<GrowthReport> report = GrowthOf(program_.events());
  ASSERT_TRUE(report.ok()) << report.status();
  const std::string text = GrowthText(*report);
  EXPECT_NE(text.find("  how the nearest came about\n"
                      "   event  before it  thread  call\n"
                      "     999     15,466  t0      malloc(8880467)                lay in the place\n"
                      "   1,000     15,465  t0      malloc(232)                    the pin is placed 13 bytes behind it\n"
                      "   1,001     15,464  t0      free, 4860000\n"
                      "   1,727     14,738  t0      free, 8880467                  goes; the pin stays: the hole is made\n"
                      "  16,460          5  t0      malloc(4850928)\n"
                      "  16,461          4  t0      realloc(8000835), was 3149900\n"
                      "  16,462          3  t0      free, 4850928\n"
                      "  16,463          2  t0      realloc(8000925), was 8000835\n"
                      "  16,464          1  t0      malloc(879931)\n"
                      "  16,465          0  t0      realloc(8880819), was 8000925  finds no room: the heap grows\n"
                      "\n"
                      "  The nearest place was 339 bytes too short: a block of 232 bytes ends it, placed at event 1,000, "
                      "15,465 calls before. What had lain there was gone at event 1,727, 727 calls later; that block "
                      "stayed.\n"),
            std::string::npos)
      << text;
  EXPECT_EQ(text, GrowthText(*GrowthOf(program_.events())));
  const nlohmann::ordered_json json = GrowthJson(*report);
  EXPECT_EQ(json["up_bytes"].get<uint64_t>() - json["down_bytes"].get<uint64_t>(), json["system_bytes"]);
}

TEST(GrowthTest, AHeapWithoutHolesHasNoStory) {
  Program program;
  for (int i = 0; i < 1000; ++i) program.Malloc(5000);
  const absl::StatusOr<GrowthReport> report = GrowthOf(program.events(), {.steps = 2, .explained = 1});
  ASSERT_TRUE(report.ok()) << report.status();
  EXPECT_EQ(report->largest.size(), 2u);
  ASSERT_EQ(report->reasons.size(), 1u);
  EXPECT_FALSE(report->reasons[0].story.has_value());
  EXPECT_GT(report->step_count, 2u);
  EXPECT_NE(GrowthText(*report).find(" others]"), std::string::npos);
}

TEST(GrowthTest, NothingHappensInAnEmptyTrace) {
  const absl::StatusOr<GrowthReport> report = GrowthOf({});
  ASSERT_TRUE(report.ok()) << report.status();
  EXPECT_EQ(report->step_count, 0u);
  EXPECT_TRUE(report->reasons.empty());
}

}  // namespace
}  // namespace heaptape
