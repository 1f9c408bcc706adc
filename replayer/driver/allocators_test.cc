// Other allocators than the system's glibc, by name and by directory.

#include <unistd.h>

#include <filesystem>
#include <string>
#include <system_error>

#include "gtest/gtest.h"
#include "replayer/driver/engine_environment.h"
#include "replayer/driver/replay_comparison.h"
#include "replayer/driver/replayer.h"
#include "replayer/driver/toy_program.h"
#include "replayer/driver/toy_replay.h"

namespace heaptape {
namespace {

ToyProgram SomeProgram() {
  ToyProgram program;
  program.Churn(41, 60000, 2000, 50000, 6);
  program.Thread(3).EndThread();
  program.Thread(5).EndThread();
  program.Thread(0).FillAndFree(3000, 700, true);
  return program;
}

class AllocatorsTest : public testing::TestWithParam<const char*> {};

TEST_P(AllocatorsTest, TwiceTheSame) {
  if (!AllocatorPath(GetParam()).ok()) GTEST_SKIP() << GetParam() << " is not installed";
  ReplaySettings settings;
  settings.allocator = GetParam();
  settings.touch = Touch::kPages;
  const ToyProgram program = SomeProgram();
  const ReplayResult a = Replayed(program, settings);
  EXPECT_FALSE(a.settings.is_glibc);
  EXPECT_NE(a.settings.allocator_path.find(GetParam()), std::string::npos);
  EXPECT_GT(a.system_bytes, a.usable_bytes);
  EXPECT_GT(a.syscalls.mmap + a.syscalls.brk, 0u);
  const ReplayResult b = Replayed(program, settings);
  EXPECT_TRUE(CompareReplays(a, b).ok()) << CompareReplays(a, b);
}

INSTANTIATE_TEST_SUITE_P(ByName, AllocatorsTest, testing::Values("jemalloc", "tcmalloc", "mimalloc"),
                         [](const auto& info) { return std::string(info.param); });

// jemalloc gives unused pages back over ten seconds.
TEST(Settling, TimePasses) {
  if (!AllocatorPath("jemalloc").ok()) GTEST_SKIP() << "jemalloc is not installed";
  ToyProgram program;
  for (uint32_t thread = 0; thread < 3; ++thread) {
    program.Thread(thread).FillAndFree(2000, 20000, false);
  }
  ReplaySettings settings;
  settings.allocator = "jemalloc";
  settings.touch = Touch::kPages;
  const ReplayResult fresh = Replayed(program, settings);
  EXPECT_FALSE(fresh.unsettled.has_value());
  settings.settle_ms = 20000;
  const ReplayResult settled = Replayed(program, settings);
  ASSERT_TRUE(settled.unsettled.has_value());
  EXPECT_EQ(settled.unsettled->system_bytes, fresh.system_bytes);
  EXPECT_EQ(settled.digest, fresh.digest);
  EXPECT_LT(settled.resident_bytes, settled.unsettled->resident_bytes / 4);
}

// An allocator may have room for growth behind a block: nobody has written to that.
TEST(Touch, ABlockThatGrowsIsResidentToItsEnd) {
  ToyProgram program;
  constexpr uint64_t kStep = 1000000;
  ToyProgram::Block block = program.Malloc(kStep);
  for (int i = 2; i <= 10; ++i) block = program.Realloc(block, i * kStep);
  for (const char* allocator : {"glibc", "jemalloc", "tcmalloc", "mimalloc"}) {
    SCOPED_TRACE(allocator);
    ReplaySettings settings;
    settings.allocator = allocator;
    settings.touch = Touch::kPages;
    settings.settle_ms = 20000;
    EXPECT_GE(Replayed(program, settings).resident_bytes, 10 * kStep);
  }
}

TEST(Settling, GlibcDoesNotLookAtTheClock) {
  const ToyProgram program = SomeProgram();
  ReplaySettings settings;
  settings.settle_ms = 10000;
  const ReplayResult settled = Replayed(program, settings);
  ASSERT_TRUE(settled.unsettled.has_value());
  EXPECT_EQ(settled.unsettled->system_bytes, Replayed(program).system_bytes);
}

TEST(Glibc, FromAnotherDirectory) {
  namespace fs = std::filesystem;
  const fs::path directory = testing::TempDir() + "/another_glibc." + std::to_string(getpid());
  fs::create_directories(directory);
  for (const char* path : {"/lib64/ld-linux-x86-64.so.2", "/lib/x86_64-linux-gnu/libc.so.6"}) {
    std::error_code error;
    fs::copy_file(fs::canonical(path, error), directory / fs::path(path).filename(), error);
    if (error) GTEST_SKIP() << path << ": " << error.message();
  }
  const ToyProgram program = SomeProgram();
  ReplaySettings settings = With("mmap_threshold", "30000");
  const ReplayResult system = Replayed(program, settings);
  settings.glibc_directory = directory;
  const ReplayResult other = Replayed(program, settings);
  EXPECT_TRUE(other.settings.is_glibc);
  EXPECT_EQ(other.settings.allocator_path, (directory / "libc.so.6").string());
  EXPECT_GT(other.settings.rewritten_call_sites, 0u);
  EXPECT_EQ(other.digest, system.digest);
  EXPECT_EQ(other.system_bytes, system.system_bytes);
  fs::remove_all(directory);
}

}  // namespace
}  // namespace heaptape
