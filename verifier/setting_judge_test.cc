#include "verifier/setting_judge.h"

#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace heaptape {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

Tunables Known() {
  return *Tunables::Parse(
      "glibc.malloc.mmap_threshold: 0x0 (min: 0x0, max: 0xffffffffffffffff)\n"
      "glibc.malloc.mxfast: 0x0 (min: 0x0, max: 0xffffffffffffffff)\n"
      "glibc.malloc.arena_max: 0x0 (min: 0x1, max: 0xffffffffffffffff)\n"
      "glibc.malloc.perturb: 0 (min: 0, max: 255)\n");
}

// A process under `environment`, whose malloc goes by `threshold`.
ProcessFacts Process(std::vector<std::string> environment, uint64_t threshold) {
  ProcessFacts facts;
  facts.pid = 20;
  facts.parent_pid = 10;
  facts.program = "/bin/app";
  facts.c_library = CLibrary::kGlibc;
  facts.environment = std::move(environment);
  facts.layout.offsets[kMmapThreshold] = 100;
  facts.layout.offsets[kHeapStart] = 200;
  facts.parameters = MallocParameters();
  facts.parameters->values[kMmapThreshold] = threshold;
  facts.parameters->values[kHeapStart] = 4096;
  facts.fresh = facts.parameters;
  return facts;
}

const std::string kThreshold = "glibc.malloc.mmap_threshold";

JudgedSetting JudgeOne(const ProcessFacts& facts, const WantedSetting& wanted) {
  return Judge(facts, {wanted}, Known())[0];
}

std::vector<std::string> Texts(const std::vector<WantedSetting>& settings) {
  std::vector<std::string> texts;
  for (const WantedSetting& s : settings) texts.push_back(absl::StrCat(s.asked_by, " ", s.name, "=", s.value));
  return texts;
}

TEST(SettingsInEnvironment, TunablesWinOverOlderVariablesAndTheLastOverTheFirst) {
  EXPECT_THAT(Texts(SettingsInEnvironment({"MALLOC_MMAP_THRESHOLD_=1", "MALLOC_ARENA_MAX=2",
                                           "GLIBC_TUNABLES=glibc.malloc.mmap_threshold=3:glibc.cpu.x86_ibt=on:"
                                           "glibc.malloc.mmap_threshold=4",
                                           "MALLOC_CONF=narenas:1"})),
              ElementsAre("GLIBC_TUNABLES glibc.malloc.mmap_threshold=4", "MALLOC_ARENA_MAX glibc.malloc.arena_max=2"));
}

TEST(SettingsInEnvironment, WhatLooksLikeOneIsKept) {
  EXPECT_THAT(Texts(SettingsInEnvironment({"MALLOC_MMAP_THRESHOLD=1", "GLIBC_TUNABLES=malloc.arena_max=2:glibc.maloc.mxfast=3"})),
              ElementsAre("GLIBC_TUNABLES malloc.arena_max=2", "GLIBC_TUNABLES glibc.maloc.mxfast=3",
                          "MALLOC_MMAP_THRESHOLD MALLOC_MMAP_THRESHOLD=1"));
}

TEST(Judge, ReadFromTheProcess) {
  const JudgedSetting judged =
      JudgeOne(Process({"GLIBC_TUNABLES=glibc.malloc.mmap_threshold=0x10000"}, 65536), {kThreshold, "65536", "option"});
  EXPECT_EQ(judged.verdict, Verdict::kInForce);
  EXPECT_EQ(judged.at_exec, "0x10000");
  EXPECT_EQ(judged.in_force, "65536");
}

TEST(Judge, ANumberThatGlibcDoesNotTakeIsToldFromAChange) {
  ProcessFacts facts = Process({"GLIBC_TUNABLES=glibc.malloc.mmap_threshold=99"}, 131072);
  const WantedSetting wanted = {kThreshold, "99", "GLIBC_TUNABLES"};
  EXPECT_EQ(JudgeOne(facts, wanted).cause, Cause::kRefused);
  facts.fresh->values[kMmapThreshold] = 99;
  EXPECT_EQ(JudgeOne(facts, wanted).cause, Cause::kOverridden);
  facts.fresh.reset();
  EXPECT_EQ(JudgeOne(facts, wanted).cause, Cause::kOverridden);
}

TEST(Judge, AHeapThatIsNotUsedYetTellsNothing) {
  ProcessFacts facts = Process({"GLIBC_TUNABLES=glibc.malloc.mmap_threshold=99"}, 131072);
  facts.parameters->values[kHeapStart] = 0;
  const JudgedSetting judged = JudgeOne(facts, {kThreshold, "99", "GLIBC_TUNABLES"});
  EXPECT_EQ(judged.verdict, Verdict::kByEnvironment);
  EXPECT_THAT(judged.explanation, HasSubstr("not called malloc yet"));
}

TEST(Judge, WhereItMayNotBeReadTheEnvironmentDecidesAndThatIsSaid) {
  ProcessFacts facts = Process({"MALLOC_MMAP_THRESHOLD_=65536"}, 0);
  facts.parameters.reset();
  facts.unreadable = "the memory may not be read";
  facts.probes[kThreshold] = ProbeResult::kInForce;  // of a fresh process
  const JudgedSetting judged = JudgeOne(facts, {kThreshold, "65536", "MALLOC_MMAP_THRESHOLD_"});
  EXPECT_EQ(judged.verdict, Verdict::kByEnvironment);
  EXPECT_THAT(judged.explanation, HasSubstr("may not be read"));
  facts.probes[kThreshold] = ProbeResult::kIgnored;
  EXPECT_EQ(JudgeOne(facts, {kThreshold, "65536", ""}).verdict, Verdict::kNotInForce);
}

TEST(Judge, BehaviourInTheProcessDecidesWhereNothingCanBeRead) {
  ProcessFacts facts = Process({"GLIBC_TUNABLES=glibc.malloc.mxfast=64"}, 131072);
  facts.probes["glibc.malloc.mxfast"] = ProbeResult::kInForce;
  const WantedSetting wanted = {"glibc.malloc.mxfast", "64", "GLIBC_TUNABLES"};
  EXPECT_EQ(JudgeOne(facts, wanted).verdict, Verdict::kByEnvironment);
  facts.probed_itself = true;
  EXPECT_EQ(JudgeOne(facts, wanted).verdict, Verdict::kInForce);
}

TEST(Judge, Causes) {
  const WantedSetting wanted = {kThreshold, "65536", "option"};
  ProcessFacts facts = Process({}, 131072);
  EXPECT_EQ(JudgeOne(facts, wanted).cause, Cause::kNotSet);
  EXPECT_EQ(JudgeOne(facts, {kThreshold, "65536", "parent"}).cause, Cause::kNotInherited);
  facts.later_environment = {"MALLOC_MMAP_THRESHOLD_=65536"};
  EXPECT_EQ(JudgeOne(facts, wanted).cause, Cause::kSetAfterStart);
  EXPECT_EQ(JudgeOne(Process({"MALLOC_MMAP_THRESHOLD=65536"}, 131072), wanted).cause, Cause::kMisspelt);
  EXPECT_EQ(JudgeOne(Process({"GLIBC_TUNABLES=glibc.malloc.mmap_threshhold=65536"}, 131072), wanted).cause, Cause::kMisspelt);
  EXPECT_EQ(JudgeOne(Process({"MALLOC_MMAP_THRESHOLD_=4096"}, 4096), wanted).cause, Cause::kOtherValue);
  EXPECT_EQ(JudgeOne(facts, {"glibc.malloc.perturb", "256", "option"}).cause, Cause::kRefused);

  facts = Process({"MALLOC_MMAP_THRESHOLD_=65536"}, 131072);
  facts.is_secure = true;
  EXPECT_EQ(JudgeOne(facts, wanted).cause, Cause::kSecure);
  facts.allocator = "/usr/lib/libjemalloc.so.2";
  EXPECT_EQ(JudgeOne(facts, wanted).cause, Cause::kOtherAllocator);
  facts = ProcessFacts();
  facts.c_library = CLibrary::kOther;
  EXPECT_EQ(JudgeOne(facts, wanted).cause, Cause::kOtherLibrary);
  EXPECT_EQ(JudgeOne(facts, wanted).verdict, Verdict::kNotInForce);
  facts.c_library = CLibrary::kStatic;
  EXPECT_EQ(JudgeOne(facts, wanted).cause, Cause::kStatic);
  facts.c_library = CLibrary::k32Bit;
  EXPECT_EQ(JudgeOne(facts, wanted).cause, Cause::k32Bit);
  facts.c_library = CLibrary::kUnknown;
  EXPECT_EQ(JudgeOne(facts, wanted).verdict, Verdict::kUnknown);
}

}  // namespace
}  // namespace heaptape
