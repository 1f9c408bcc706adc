// A pipeline of frames: one buffer of 66,355,200 bytes made and freed for each
// of a hundred. From one trace: what the default costs, what each setting does.

#include "gtest/gtest.h"
#include "replayer/driver/replayer.h"
#include "replayer/driver/toy_program.h"
#include "replayer/driver/toy_replay.h"

namespace heaptape {
namespace {

constexpr int kFrames = 100;
constexpr uint64_t kFrameBytes = 66355200;
constexpr uint64_t kFramePages = kFrameBytes / 4096;

ToyProgram Pipeline() {
  ToyProgram program;
  for (int i = 0; i < kFrames; ++i) program.Free(program.Malloc(kFrameBytes));
  return program;
}

ReplaySettings Touching(const TunableMap& tunables) {
  ReplaySettings settings;
  settings.tunables = tunables;
  settings.touch = Touch::kPages;
  return settings;
}

TEST(FramePipeline, ByDefaultEachFrameIsMappedAndUnmapped) {
  const ReplayResult result = Replayed(Pipeline(), Touching({}));
  EXPECT_EQ(result.syscalls.mmap, 100u);
  EXPECT_EQ(result.syscalls.munmap, 100u);
  EXPECT_GT(result.minor_faults, kFrames * kFramePages);
}

TEST(FramePipeline, WithoutMmapTheHeapsEndMovesInstead) {
  const ReplayResult result = Replayed(Pipeline(), Touching({{"glibc.malloc.mmap_max", "0"}}));
  EXPECT_EQ(result.syscalls.mmap, 0u);
  EXPECT_GE(result.syscalls.brk, 200u);
  EXPECT_LE(result.syscalls.brk, 210u);
}

TEST(FramePipeline, WithoutTrimmingOneFrameServesAll) {
  const ReplayResult result = Replayed(Pipeline(), Touching({{"glibc.malloc.mmap_max", "0"},
                                                             {"glibc.malloc.trim_threshold", "4294967295"}}));
  EXPECT_EQ(result.syscalls.mmap, 0u);
  EXPECT_LE(result.syscalls.brk, 4u);
  EXPECT_LT(result.minor_faults, kFrames * kFramePages / 95);
}

}  // namespace
}  // namespace heaptape
