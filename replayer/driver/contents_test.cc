// What nobody reads is not moved, and nothing else changes.

#include "gtest/gtest.h"
#include "replayer/driver/replay_comparison.h"
#include "replayer/driver/replayer.h"
#include "replayer/driver/toy_program.h"
#include "replayer/driver/toy_replay.h"

namespace heaptape {
namespace {

ReplaySettings Moving() {
  ReplaySettings settings;
  settings.move_contents = true;
  return settings;
}

TEST(Contents, TheHeapIsTheSame) {
  ToyProgram program;
  for (uint32_t thread = 0; thread < 6; ++thread) {
    // A thread's first calls are those that set up its cache, in used memory.
    program.Thread(thread).Calloc(100);
    program.FillAndFree(50, 3000, true);
  }
  program.Churn(31, 60000, 1500, 150000, 6);
  program.Thread(3).EndThread();
  program.Thread(7).Calloc(200000);
  program.Thread(0).Churn(32, 20000, 300, 400000, 3);
  const ReplayResult moving = Replayed(program, Moving());
  const ReplayResult unread = Replayed(program);
  EXPECT_FALSE(moving.settings.contents_left_out);
  EXPECT_TRUE(unread.settings.contents_left_out) << "this libc's slots were not found";
  EXPECT_TRUE(CompareReplays(moving, unread).ok()) << CompareReplays(moving, unread);
}

TEST(Contents, UnderEverySetting) {
  ToyProgram program;
  program.Churn(33, 30000, 800, 150000, 4);
  for (const auto& [name, value] : {std::pair("perturb", "85"), std::pair("mmap_max", "0"),
                                    std::pair("tcache_count", "0"), std::pair("top_pad", "0")}) {
    SCOPED_TRACE(name);
    ReplaySettings moving = With(name, value);
    moving.move_contents = true;
    EXPECT_EQ(Replayed(program, moving).digest, Replayed(program, With(name, value)).digest);
  }
}

TEST(Contents, LargeBlocksAreNotTouched) {
  ToyProgram program;
  ToyProgram::Block block = program.Malloc(1 << 20);
  program.Malloc(100);
  for (int i = 2; i < 20; ++i) {
    block = program.Realloc(block, i << 20);
    program.Calloc(1 << 20);
  }
  ReplaySettings moving = With("mmap_max", "0");
  moving.move_contents = true;
  const ReplayResult moved = Replayed(program, moving);
  const ReplayResult unread = Replayed(program, With("mmap_max", "0"));
  EXPECT_EQ(moved.digest, unread.digest);
  EXPECT_GT(moved.minor_faults, 10 * unread.minor_faults);
}

TEST(Contents, TouchingMovesThem) {
  ToyProgram program;
  program.Calloc(1 << 20);
  ReplaySettings touching;
  touching.touch = Touch::kPages;
  EXPECT_FALSE(Replayed(program, touching).settings.contents_left_out);
}

}  // namespace
}  // namespace heaptape
