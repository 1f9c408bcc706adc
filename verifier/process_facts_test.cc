#include "verifier/process_facts.h"

#include <malloc.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include <string>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "verifier/witness_run.h"

namespace heaptape {
namespace {

using testing::Contains;
using testing::ElementsAre;

constexpr char kWitness[] = "verifier/witness/heaptape-witness";
constexpr char kGlibc[] = "/lib/x86_64-linux-gnu";

TEST(SettingVariables, GlibcPutsZeroBytesBetweenSettings) {
  EXPECT_THAT(SettingVariables(std::string("HOME=/\0GLIBC_TUNABLES=glibc.malloc.top_pad=1\0glibc.bogus=2:glibc.malloc.mxfast=3\0"
                                           "PATH=/bin\0MALLOC_ARENA_MAX=2\0a.b=c\0",
                                           113)),
              ElementsAre("GLIBC_TUNABLES=glibc.malloc.top_pad=1:glibc.bogus=2:glibc.malloc.mxfast=3", "MALLOC_ARENA_MAX=2"));
}

TEST(ReadProcess, WhatIsSetSinceIsToldFromWhatWasThereAtExec) {
  setenv("MALLOC_ARENA_MAX", "3", 1);
  LoadedLibc libc;
  const absl::StatusOr<ProcessFacts> facts = ReadProcess(getpid(), &libc);
  unsetenv("MALLOC_ARENA_MAX");
  ASSERT_TRUE(facts.ok()) << facts.status();
  EXPECT_EQ(facts->c_library, CLibrary::kGlibc);
  EXPECT_EQ(facts->allocator, "");
  EXPECT_FALSE(facts->is_secure);
  EXPECT_EQ(facts->parent_pid, getppid());
  EXPECT_THAT(facts->environment, testing::Not(Contains("MALLOC_ARENA_MAX=3")));
  ASSERT_TRUE(facts->later_environment.has_value());
  EXPECT_THAT(*facts->later_environment, Contains("MALLOC_ARENA_MAX=3"));
}

TEST(ReadProcess, NoneAndZombies) {
  LoadedLibc libc;
  EXPECT_EQ(ReadProcess(99999999, &libc).status().code(), absl::StatusCode::kNotFound);
  const pid_t child = fork();
  if (child == 0) _exit(0);
  siginfo_t info;
  waitid(P_PID, child, &info, WEXITED | WNOWAIT);
  EXPECT_EQ(ReadProcess(child, &libc).status().code(), absl::StatusCode::kNotFound);
  waitpid(child, nullptr, 0);
}

TEST(Witness, EveryParameterIsFoundAndReadInAnotherProcess) {
  const absl::StatusOr<WitnessedGlibc> glibc = WitnessLayout(kWitness, kGlibc);
  ASSERT_TRUE(glibc.ok()) << glibc.status();
  for (uint32_t i = 0; i < kMallocParameters; ++i) EXPECT_NE(glibc->layout.offsets[i], 0) << kMallocParameterNames[i];

  LoadedLibc libc;
  ASSERT_TRUE(ReadProcess(getpid(), &libc).ok());
  // The threshold moves to a block's size when that block is freed, and mallopt fixes it.
  void* const volatile moving = malloc(5 << 20);
  absl::StatusOr<MallocParameters> now = ReadParameters(getpid(), libc.base, glibc->layout);
  ASSERT_TRUE(now.ok()) << now.status();
  const uint64_t mapped = now->values[kMmappedBlocks];
  EXPECT_GE(mapped, 1);
  EXPECT_EQ(now->values[kThresholdIsFixed], 0);
  free(moving);
  now = ReadParameters(getpid(), libc.base, glibc->layout);
  EXPECT_EQ(now->values[kMmappedBlocks], mapped - 1);
  EXPECT_NEAR(static_cast<double>(now->values[kMmapThreshold]), 5 << 20, 8192);
  mallopt(M_TOP_PAD, 54321);
  mallopt(M_ARENA_MAX, 17);
  now = ReadParameters(getpid(), libc.base, glibc->layout);
  EXPECT_EQ(now->values[kThresholdIsFixed], 1);
  EXPECT_EQ(now->values[kTopPad], 54321);
  EXPECT_EQ(now->values[kArenaMax], 17);
}

TEST(Witness, AFreshProcessUnderAnEnvironment) {
  const absl::StatusOr<WitnessedGlibc> glibc = WitnessLayout(kWitness, kGlibc);
  ASSERT_TRUE(glibc.ok()) << glibc.status();
  const absl::StatusOr<MallocParameters> parameters = WitnessParameters(
      kWitness, kGlibc, glibc->layout,
      {"GLIBC_TUNABLES=glibc.malloc.mmap_threshold=4096:glibc.malloc.tcache_count=3", "MALLOC_ARENA_MAX=2", "MALLOC_TOP_PAD=1"});
  ASSERT_TRUE(parameters.ok()) << parameters.status();
  EXPECT_EQ(parameters->values[kMmapThreshold], 4096);
  EXPECT_EQ(parameters->values[kTcacheCount], 3);
  EXPECT_EQ(parameters->values[kArenaMax], 2);
  EXPECT_EQ(parameters->values[kTopPad], 131072);
  EXPECT_EQ(parameters->values[kMmapMax], 65536);
}

TEST(Witness, NoGlibcThere) {
  EXPECT_EQ(WitnessLayout(kWitness, "/nonexistent").status().code(), absl::StatusCode::kUnavailable);
}

}  // namespace
}  // namespace heaptape
