#include "tools/progress_line.h"

#include <signal.h>

#include "gtest/gtest.h"

namespace heaptape {
namespace {

TEST(ProgressText, RateAndTimeLeft) {
  EXPECT_EQ(ProgressText("replaying", 0, 0, 10), "replaying   0 %");
  EXPECT_EQ(ProgressText("replaying", 0.1, 1000000, 0.1), "replaying  10 %");
  EXPECT_EQ(ProgressText("replaying", 0.25, 50000000, 2),
            "replaying  25 %, 50.0 M events, 25.0 M a second, 6 s left");
  EXPECT_EQ(ProgressText("replaying", 1, 50000000, 2), "replaying 100 %, 50.0 M events, 25.0 M a second, 0 s left");
}

TEST(InterruptFlag, NotesTheFirst) {
  {
    const InterruptFlag flag;
    EXPECT_FALSE(flag.raised());
    raise(SIGINT);
    EXPECT_TRUE(flag.raised());
  }
  const InterruptFlag again;
  EXPECT_FALSE(again.raised());
}

}  // namespace
}  // namespace heaptape
