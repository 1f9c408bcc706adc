#include "analysis/text_table.h"

#include "gtest/gtest.h"

namespace heaptape {
namespace {

TEST(TextTableTest, Numbers) {
  EXPECT_EQ(Grouped(0), "0");
  EXPECT_EQ(Grouped(999), "999");
  EXPECT_EQ(Grouped(1000), "1,000");
  EXPECT_EQ(Grouped(18446744073709551615u), "18,446,744,073,709,551,615");
  EXPECT_EQ(Counted(0, "hole"), "0 holes");
  EXPECT_EQ(Counted(1, "hole"), "1 hole");
  EXPECT_EQ(Counted(1000, "hole"), "1,000 holes");
  EXPECT_EQ(Megabytes(286'149'999), "286.1");
  EXPECT_EQ(ShortSize(512), "512");
  EXPECT_EQ(ShortSize(65536), "64 KiB");
  EXPECT_EQ(ShortSize(uint64_t{3} << 40), "3 TiB");
  EXPECT_EQ(ShortSize(1025), "1025");
}

TEST(TextTableTest, StrangersTextCannotMoveTheCursor) {
  EXPECT_EQ(Printable("caf\xc3\xa9 \x1b[2J\n"), "caf\xc3\xa9 \\x1b[2J\\n");
}

TEST(TextTableTest, ColumnsLineUp) {
  TextTable table("rl");
  table.Add({"bytes", "what"});
  table.Add({"1,234,567", "a"});
  table.Add({"7"});
  EXPECT_EQ(table.Render(),
            "      bytes  what\n"
            "  1,234,567  a\n"
            "          7\n");
}

}  // namespace
}  // namespace heaptape
