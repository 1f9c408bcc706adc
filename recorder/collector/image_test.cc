// Spools that the collector makes ahead. (The program's side is in surroundings_test.cc.)

#include "recorder/collector/image.h"

#include <signal.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <iterator>
#include <memory>
#include <string>

#include "gtest/gtest.h"
#include "recorder/collector/made_image.h"
#include "recorder/wire/session.h"
#include "testdata/run_program.h"

namespace heaptape {
namespace {

constexpr uint64_t kBuffer = 32 << 20;

class ImageTest : public MadeImage, public testing::Test {
 protected:
  explicit ImageTest(const std::string& directory = MakeTestDirectory("image_test")) : MadeImage(directory) {
    control_->pid = getpid();
    control_->start_time_ticks = ProcessStartTime(getpid());
    control_->spool_count = 2;
    image_ = *Image::Open(directory_);
  }
  ~ImageTest() override { std::filesystem::remove_all(directory_); }

  bool Has(const std::string& name) const { return std::filesystem::exists(directory_ + "/" + name); }
  std::string Read(const std::string& name) const {
    std::ifstream file(directory_ + "/" + name, std::ios::binary);
    return std::string(std::istreambuf_iterator<char>(file), {});
  }

  std::unique_ptr<Image> image_;
};

TEST_F(ImageTest, TheNextSpoolIsMadeOnceAndWhole) {
  image_->MakeSpoolAhead(kBuffer);
  EXPECT_EQ(Read("spool.2"), std::string(wire::SpoolBytes(2), '\0'));
  struct stat info;
  ASSERT_EQ(stat((directory_ + "/spool.2").c_str(), &info), 0);
  EXPECT_GE(static_cast<uint64_t>(info.st_blocks) * 512, wire::SpoolBytes(2));
  EXPECT_EQ(info.st_mode & 0777, 0600u);
  EXPECT_FALSE(Has("making"));

  // A program cannot have us make one again and again.
  std::filesystem::remove(directory_ + "/spool.2");
  image_->MakeSpoolAhead(kBuffer);
  control_->spool_count = 1;
  image_->MakeSpoolAhead(kBuffer);
  control_->spool_count = 2;
  image_->MakeSpoolAhead(kBuffer);
  EXPECT_FALSE(Has("spool.2"));
  control_->spool_count = wire::kSmallSpools;
  image_->MakeSpoolAhead(kBuffer);
  EXPECT_EQ(Read("spool.8").size(), wire::SpoolBytes(8));
}

TEST_F(ImageTest, NoneIsMadeForAProgramThatMakesFewCalls) {
  control_->spool_count = 1;
  image_->MakeSpoolAhead(kBuffer);
  EXPECT_FALSE(Has("spool.1"));
}

TEST_F(ImageTest, NoneIsMadeBeyondTheBuffer) {
  image_->MakeSpoolAhead(wire::SpoolBytes(0) + wire::SpoolBytes(1));
  EXPECT_FALSE(Has("spool.2"));
  for (const uint32_t count : {wire::kMaxSpools, ~uint32_t{0}}) {
    control_->spool_count = count;
    image_->MakeSpoolAhead(~uint64_t{0});
    EXPECT_FALSE(Has("spool." + std::to_string(count)));
  }
}

TEST_F(ImageTest, NoneIsMadeForAProgramThatHasEnded) {
  image_ = nullptr;
  ++control_->start_time_ticks;
  image_ = *Image::Open(directory_);
  image_->MakeSpoolAhead(kBuffer);
  EXPECT_FALSE(Has("spool.2"));
}

TEST_F(ImageTest, NoneIsMadeForAnotherUser) {
  if (chown((directory_ + "/control").c_str(), 1, 1) != 0) GTEST_SKIP() << "cannot give files away here";
  image_->MakeSpoolAhead(kBuffer);
  EXPECT_FALSE(Has("spool.2"));
}

TEST_F(ImageTest, TheProgramsOwnIsLeftAlone) {
  std::ofstream(directory_ + "/spool.2") << "the program's";
  image_->MakeSpoolAhead(kBuffer);
  EXPECT_EQ(Read("spool.2"), "the program's");
  EXPECT_FALSE(Has("making"));
}

TEST_F(ImageTest, WhatAKilledCollectorWasMakingIsMadeAnew) {
  std::ofstream(directory_ + "/making") << "half";
  image_->MakeSpoolAhead(kBuffer);
  EXPECT_EQ(Read("spool.2"), std::string(wire::SpoolBytes(2), '\0'));
}

// A limit on the size of files stands for space that runs out.
TEST_F(ImageTest, NoneIsLeftHalfMade) {
  signal(SIGXFSZ, SIG_IGN);
  rlimit limit;
  getrlimit(RLIMIT_FSIZE, &limit);
  const rlim_t before = limit.rlim_cur;
  limit.rlim_cur = wire::SpoolBytes(2) / 2;
  setrlimit(RLIMIT_FSIZE, &limit);
  image_->MakeSpoolAhead(kBuffer);
  limit.rlim_cur = before;
  setrlimit(RLIMIT_FSIZE, &limit);
  EXPECT_FALSE(Has("spool.2"));
  EXPECT_FALSE(Has("making"));
}

// The image lies on a disk with room for some spools, but not plenty.
class SmallDiskTest : public ImageTest {
 protected:
  SmallDiskTest() : ImageTest(Mount(MakeTestDirectory("image_test"))) {}
  ~SmallDiskTest() override { RunProgram({"umount", "-l", directory_}); }

  static std::string Mount(const std::string& directory) {
    mounted_ = RunProgram({"mount", "-t", "tmpfs", "-o", "size=16M", "none", directory}).exit_code == 0;
    return directory;
  }

  static inline bool mounted_ = false;
};

TEST_F(SmallDiskTest, IsLeftToTheProgramAndTheTrace) {
  if (!mounted_) GTEST_SKIP() << "cannot mount a tmpfs here";
  image_->MakeSpoolAhead(kBuffer);
  EXPECT_FALSE(Has("spool.2"));
  EXPECT_FALSE(Has("making"));
}

}  // namespace
}  // namespace heaptape
