#include "tools/nearest.h"

#include "gtest/gtest.h"

namespace heaptape {
namespace {

TEST(NearestTest, SlipsOfTheFinger) {
  const std::vector<std::string> commands = {"cat", "info", "import", "record", "replay", "report"};
  EXPECT_EQ(Nearest("inof", commands), "info");
  EXPECT_EQ(Nearest("repaly", commands), "replay");
  EXPECT_EQ(Nearest("reprot", commands), "report");
  EXPECT_EQ(Nearest("imprt", commands), "import");
  EXPECT_EQ(Nearest("catt", commands), "cat");
  EXPECT_EQ(Nearest("replay", commands), "replay");
}

TEST(NearestTest, NothingIsBetterThanAWildGuess) {
  const std::vector<std::string> commands = {"cat", "info"};
  EXPECT_EQ(Nearest("dog", commands), "");
  EXPECT_EQ(Nearest("", commands), "");
  EXPECT_EQ(Nearest("information", commands), "");
  EXPECT_EQ(Nearest("x", {}), "");
}

}  // namespace
}  // namespace heaptape
