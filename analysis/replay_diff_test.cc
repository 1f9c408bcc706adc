#include "analysis/replay_diff.h"

#include "gtest/gtest.h"

namespace heaptape {
namespace {

using nlohmann::ordered_json;

ordered_json Report(uint64_t system, const char* digest) {
  return {{"trace", {{"path", "x"}}},
          {"settings", {{"tunables", {{"glibc.malloc.arena_max", 1}}}}},
          {"digest", digest},
          {"peak", {{"system_bytes", 2 * system}}},
          {"end", {{"system_bytes", system}, {"hole_bytes", 0}}},
          {"syscalls", nullptr},
          {"peak_mappings", 3},
          {"replay_seconds", 0.25}};
}

class ReplayDiffTest : public testing::Test {
 protected:
  bool IsBroken(const std::string& text) {
    const absl::StatusOr<DiffLimit> limit = ParseDiffLimit(text);
    EXPECT_TRUE(limit.ok()) << limit.status();
    const auto broken = Broken(*limit, *diff_);
    EXPECT_TRUE(broken.ok()) << broken.status();
    return broken->has_value();
  }

  const absl::StatusOr<ReplayDiff> diff_ = DiffReplays(Report(100'000, "a"), Report(106'000, "b"));
};

TEST_F(ReplayDiffTest, Text) {
  ASSERT_TRUE(diff_.ok());
  EXPECT_EQ(ReplayDiffText(*diff_),
            "A  x glibc.malloc.arena_max=1\n"
            "B  x glibc.malloc.arena_max=1\n"
            "\n"
            "                           A        B   change     %\n"
            "  peak.system_bytes  200,000  212,000  +12,000  +6.0\n"
            "  end.system_bytes   100,000  106,000   +6,000  +6.0\n"
            "  end.hole_bytes           0        0        0\n"
            "  peak_mappings            3        3        0  +0.0\n"
            "  replay_seconds       0.250    0.250   +0.000  +0.0\n"
            "\n"
            "digests differ\n");
}

TEST_F(ReplayDiffTest, Limits) {
  EXPECT_TRUE(IsBroken("end.system_bytes>+5%"));
  EXPECT_FALSE(IsBroken("end.system_bytes>+6%"));
  EXPECT_TRUE(IsBroken("end.system_bytes>=+6%"));
  EXPECT_TRUE(IsBroken("end.system_bytes>+5K"));
  EXPECT_FALSE(IsBroken("end.system_bytes>+6K"));
  EXPECT_TRUE(IsBroken("end.system_bytes>100K"));
  EXPECT_FALSE(IsBroken("end.system_bytes>1M"));
  EXPECT_TRUE(IsBroken("end.system_bytes<1M"));
  EXPECT_FALSE(IsBroken("end.system_bytes<-1%"));
  EXPECT_FALSE(IsBroken("end.hole_bytes>+5%"));  // nothing of nothing
  EXPECT_EQ(**Broken(*ParseDiffLimit("end.system_bytes>+5%"), *diff_),
            "end.system_bytes>+5%: end.system_bytes is 106,000, was 100,000 (+6.0 %)");
}

TEST_F(ReplayDiffTest, WhatIsNoLimit) {
  for (const char* text : {"", ">5", "end", "a=5", "a>", "a>x", "a>5%", "a>+nan", "a>>5"}) {
    EXPECT_FALSE(ParseDiffLimit(text).ok()) << text;
  }
  EXPECT_FALSE(Broken(*ParseDiffLimit("no.such>1"), *diff_).ok());
}

TEST(ReplayDiffErrorTest, WhatIsNoReplay) {
  EXPECT_FALSE(DiffReplays(Report(1, "a"), ordered_json::array()).ok());
  EXPECT_FALSE(DiffReplays(ordered_json{{"trace", 5}, {"end", 1}}, Report(1, "a")).ok());
  EXPECT_TRUE(DiffReplays(Report(1, "a"), Report(1, "a"))->same_digest);
}

}  // namespace
}  // namespace heaptape
