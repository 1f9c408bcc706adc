#include "analysis/lifetimes.h"

#include <vector>

#include "analysis/lifetimes_text.h"
#include "gtest/gtest.h"

namespace heaptape {
namespace {

Event Malloc(uint64_t address, uint64_t size) { return {.address = address, .size = size}; }
Event Free(uint64_t address) { return {.address = address, .kind = EventKind::kFree}; }

TEST(LifetimesTest, ClassesAgesAndWhoOutlivesThePeak) {
  Lifetimes lifetimes(3);
  lifetimes.Add(1, std::vector<Event>{Malloc(16, 100), Malloc(32, 100), Malloc(48, 5000)});
  lifetimes.Add(4, std::vector<Event>{Free(16), Malloc(64, 0),
                                      {.address = 80, .old_address = 48, .size = 90, .kind = EventKind::kRealloc},
                                      Free(12345)});
  ReplayResult result;
  result.blocks = {{.usable_bytes = 104, .requested_bytes = 100}, {.usable_bytes = 24}, {.usable_bytes = 104, .requested_bytes = 90}};
  const LifetimeReport report = lifetimes.Finish(result);
  ASSERT_EQ(report.classes.size(), 3u);
  EXPECT_EQ(report.at_event, 7u);
  EXPECT_EQ(report.classes[0],
            (LifetimeClass{.count = 1, .median_age = 2, .p99_age = 2, .live_count = 1, .live_usable_bytes = 24}));
  EXPECT_EQ(report.classes[1], (LifetimeClass{.min_bytes = 64, .max_bytes = 127, .count = 3, .bytes = 290,
                                              .median_age = 3, .p99_age = 3, .peak_count = 2, .peak_bytes = 200,
                                              .outlive_count = 1, .outlive_bytes = 100, .live_count = 2,
                                              .live_requested_bytes = 190, .live_usable_bytes = 208}));
  EXPECT_EQ(report.classes[2].count, 1u);
  EXPECT_EQ(report.classes[2].median_age, 3u);
  EXPECT_EQ(report.classes[2].outlive_count, 0u);
  EXPECT_EQ(report.all.count, 5u);
  EXPECT_EQ(report.all.bytes, 5290u);
  EXPECT_EQ(report.all.live_count, 3u);
  EXPECT_EQ(LifetimesJson(report)["all"]["outlive_peak_count"], 1);
  EXPECT_NE(LifetimesText(report).find("64    127       3    290"), std::string::npos) << LifetimesText(report);
}

TEST(LifetimesTest, QuantilesAreRightToAFewPercent) {
  Lifetimes lifetimes(0);
  uint64_t event = 1;
  // Ages 1 to 1000, in spans of their own.
  for (uint64_t age = 1; age <= 1000; ++age) {
    std::vector<Event> events(age + 1, Free(0));
    events[0] = Malloc(16, 8);
    events[age] = Free(16);
    lifetimes.Add(event, events);
    event += events.size();
  }
  const LifetimeReport report = lifetimes.Finish(ReplayResult());
  EXPECT_NEAR(static_cast<double>(report.all.median_age), 500, 35);
  EXPECT_NEAR(static_cast<double>(report.all.p99_age), 990, 65);
}

TEST(LifetimesTest, AnEmptyTrace) {
  EXPECT_TRUE(Lifetimes(0).Finish(ReplayResult()).classes.empty());
}

}  // namespace
}  // namespace heaptape
