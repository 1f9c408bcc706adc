#include "tools/byte_size.h"

#include "gtest/gtest.h"

namespace heaptape {
namespace {

TEST(ByteSizeTest, PlainAndWithAUnit) {
  EXPECT_EQ(*ParseByteSize("0"), 0u);
  EXPECT_EQ(*ParseByteSize("65536"), 65536u);
  EXPECT_EQ(*ParseByteSize("64K"), 65536u);
  EXPECT_EQ(*ParseByteSize("64k"), 65536u);
  EXPECT_EQ(*ParseByteSize("3M"), 3u << 20);
  EXPECT_EQ(*ParseByteSize("5G"), uint64_t{5} << 30);
  EXPECT_EQ(*ParseByteSize("0x10K"), 16384u);
  EXPECT_EQ(*ParseByteSize("18446744073709551615"), ~uint64_t{0});
}

TEST(ByteSizeTest, NoSizes) {
  for (const char* text : {"", "K", "64KB", "64 K", "-1", "+1", "1.5M", "64T", "0x", "18446744073709551616",
                           "17179869184G", "none"}) {
    EXPECT_FALSE(ParseByteSize(text).ok()) << text;
  }
}

}  // namespace
}  // namespace heaptape
