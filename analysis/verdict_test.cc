#include "analysis/verdict.h"

#include "gtest/gtest.h"

namespace heaptape {
namespace {

// 300 MB held for 10 MB, free in many holes; three probes that change nothing.
VerdictFacts Wasteful() {
  VerdictFacts facts;
  facts.at_event = 5000;
  facts.requested_bytes = 10'000'000;
  facts.half_requested_bytes = 10'000'000;
  facts.peak_requested_bytes = 250'000'000;
  facts.system_bytes = facts.peak_system_bytes = 300'000'000;
  facts.peak_mappings = 3;
  facts.live_blocks = 3000;
  facts.hole_bytes = facts.pinned_bytes = 290'000'000;
  facts.trimmable_bytes = 280'000'000;
  facts.hole_count = facts.pin_count = 2000;
  facts.largest_pin = Pin{.block = {.requested_bytes = 24, .event = 77, .thread = 3}, .held_bytes = 1'000'000};
  facts.ten_pins_bytes = 5'000'000;
  facts.threads = 4;
  facts.arenas = 4;
  facts.frozen = VerdictProbe{.setting = "trim_threshold=131072", .system_bytes = 300'000'000};
  facts.one_arena = VerdictProbe{.setting = "arena_max=1", .system_bytes = 299'000'000};
  facts.no_thread_cache = VerdictProbe{.setting = "tcache_count=0", .system_bytes = 298'000'000};
  return facts;
}

TEST(VerdictTest, TheProbeThatHelpsNamesTheCause) {
  VerdictFacts facts = Wasteful();
  facts.frozen->system_bytes = 11'000'000;
  const Verdict verdict = Judge(facts);
  EXPECT_EQ(verdict.mechanism, Mechanism::kMovingThreshold);
  EXPECT_EQ(verdict.environment, "GLIBC_TUNABLES=glibc.malloc.mmap_threshold=131072");
  EXPECT_NE(verdict.paragraph.find("299.0 MB with arena_max=1 and 298.0 MB with tcache_count=0"), std::string::npos);
  EXPECT_EQ(verdict.probes.size(), 3u);

  facts = Wasteful();
  facts.one_arena->system_bytes = 30'000'000;
  EXPECT_EQ(Judge(facts).mechanism, Mechanism::kArenaPerThread);
  facts = Wasteful();
  facts.no_thread_cache->system_bytes = 30'000'000;
  EXPECT_EQ(Judge(facts).mechanism, Mechanism::kThreadCache);
}

TEST(VerdictTest, TwoThatHelpAlikeAreNotSure) {
  VerdictFacts facts = Wasteful();
  facts.frozen->system_bytes = 50'000'000;
  facts.one_arena->system_bytes = 60'000'000;
  const Verdict verdict = Judge(facts);
  EXPECT_EQ(verdict.mechanism, Mechanism::kNotSure);
  EXPECT_TRUE(verdict.environment.empty());
}

TEST(VerdictTest, WhoPinsTellsTheRestApart) {
  EXPECT_EQ(Judge(Wasteful()).mechanism, Mechanism::kScatteredSurvivors);
  VerdictFacts few = Wasteful();
  few.ten_pins_bytes = few.largest_pin->held_bytes = 280'000'000;
  const Verdict verdict = Judge(few);
  EXPECT_EQ(verdict.mechanism, Mechanism::kPinnedTop);
  EXPECT_NE(verdict.paragraph.find("24 bytes of thread 3, allocated at event 77"), std::string::npos);
  // Neither few nor many, or nothing that pins.
  VerdictFacts odd = Wasteful();
  odd.pin_count = 30;
  EXPECT_EQ(Judge(odd).mechanism, Mechanism::kNotSure);
  odd = Wasteful();
  odd.pinned_bytes = 0;
  odd.top_bytes = odd.hole_bytes;
  EXPECT_EQ(Judge(odd).mechanism, Mechanism::kNotSure);
}

TEST(VerdictTest, WithoutExcessItLeaksOrIsHealthy) {
  VerdictFacts facts;
  facts.requested_bytes = facts.peak_requested_bytes = 100'000'000;
  facts.half_requested_bytes = 50'000'000;
  facts.system_bytes = facts.peak_system_bytes = 100'800'000;
  EXPECT_FALSE(NeedsProbes(facts));
  EXPECT_EQ(Judge(facts).mechanism, Mechanism::kLeak);
  facts.half_requested_bytes = 99'000'000;  // it has long stopped growing
  EXPECT_EQ(Judge(facts).mechanism, Mechanism::kHealthy);
  facts.half_requested_bytes = 50'000'000;
  facts.peak_requested_bytes = 200'000'000;  // it has come down
  EXPECT_EQ(Judge(facts).mechanism, Mechanism::kHealthy);
  EXPECT_EQ(Judge(VerdictFacts()).mechanism, Mechanism::kHealthy);
}

TEST(VerdictTest, SettingsThatHarmAreNamed) {
  VerdictFacts facts;
  facts.requested_bytes = 1'600'000;
  facts.system_bytes = 3'200'000;
  facts.peak_requested_bytes = 256'000'000;
  facts.peak_system_bytes = 360'000'000;
  facts.peak_mappings = 32'765;
  EXPECT_TRUE(NeedsProbes(facts));
  facts.untuned = VerdictProbe{.setting = "as recorded", .system_bytes = 3'300'000, .peak_system_bytes = 258'000'000, .peak_mappings = 2};
  const Verdict verdict = Judge(facts);
  EXPECT_EQ(verdict.mechanism, Mechanism::kOverTuned);
  EXPECT_NE(verdict.paragraph.find("50 % of what the kernel allows"), std::string::npos) << verdict.paragraph;
  // Many mappings are not over-tuned if they are there without settings, too.
  facts.untuned->peak_mappings = 30'000;
  EXPECT_EQ(Judge(facts).mechanism, Mechanism::kHealthy);
}

}  // namespace
}  // namespace heaptape
