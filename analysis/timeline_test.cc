#include "analysis/timeline.h"

#include "gtest/gtest.h"

namespace heaptape {
namespace {

Timeline Example() {
  return {{{0, 0, 0, 0, 0}, {50, 400, 410, 1000, 900}, {100, 200, 210, 800, 700}}, {{20, 300}, {90, 950}}};
}

TEST(TimelineTest, Csv) {
  EXPECT_EQ(TimelineCsv(Example()),
            "event,requested_bytes,usable_bytes,system_bytes,resident_bytes,recorded_resident_bytes\n"
            "0,0,0,0,0,\n"
            "50,400,410,1000,900,300\n"
            "100,200,210,800,700,950\n");
}

TEST(TimelineTest, Json) {
  EXPECT_EQ(TimelineJson(Example())["points"][1]["system_bytes"], 1000);
  EXPECT_EQ(TimelineJson(Example())["recorded"][0].dump(), R"({"event":20,"resident_bytes":300})");
}

TEST(TimelineTest, ThinnedKeepsTheEndsAndThePeak) {
  Timeline timeline;
  for (uint64_t i = 0; i <= 1000; ++i) timeline.points.push_back({i, i, i, i == 617 ? 5000 : i, i});
  const Timeline thinned = Thinned(timeline, 50);
  EXPECT_LE(thinned.points.size(), 50u);
  EXPECT_EQ(thinned.points.front().event, 0u);
  EXPECT_EQ(thinned.points.back().event, 1000u);
  bool peak = false;
  for (size_t i = 0; i < thinned.points.size(); ++i) {
    peak = peak || thinned.points[i].system_bytes == 5000;
    if (i > 0) {
      EXPECT_LT(thinned.points[i - 1].event, thinned.points[i].event);
    }
  }
  EXPECT_TRUE(peak);
}

TEST(TimelineTest, Chart) {
  Timeline timeline;
  for (uint64_t i = 0; i <= 100; ++i) timeline.points.push_back({i, i * 10'000, 0, i * 20'000, 0});
  EXPECT_EQ(TimelineChart(timeline, 20, 4),
            "      2.0 |                 ...\n"
            "          |            ........\n"
            "      1.0 |       .......######\n"
            "          |  ..################\n"
            "   0.0 MB +--------------------\n"
            "           0                100 events\n"
            "           # requested  . system\n");
  EXPECT_EQ(TimelineChart(Timeline(), 20, 4), "");
}

}  // namespace
}  // namespace heaptape
