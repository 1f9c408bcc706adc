#include "replayer/driver/engine_environment.h"

#include <string>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace heaptape {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

Header Recorded(const std::vector<std::string>& environment, uint32_t cpus = 4) {
  Header header;
  header.set_cpus(cpus);
  for (const std::string& variable : environment) header.add_environment(variable);
  return header;
}

EngineEnvironment Compose(const Header& header, const ReplaySettings& settings = {}) {
  static const Tunables* const kKnown = new Tunables(*Tunables::Load());
  const auto environment = ComposeEnvironment(header, settings, *kKnown);
  EXPECT_TRUE(environment.ok()) << environment.status();
  return *environment;
}

TEST(EngineEnvironment, SetsTheRecordedMachinesArenaLimit) {
  EXPECT_THAT(Compose(Recorded({})).variables,
              ElementsAre("GLIBC_TUNABLES=glibc.malloc.arena_max=32"));
  EXPECT_EQ(Compose(Recorded({})).arena_limit, 32u);
  EXPECT_EQ(Compose(Recorded({}, 0)).arena_limit, 64u) << "8 processors are assumed";
  EXPECT_EQ(Compose(Recorded({}, 1)).arena_limit, 9u) << "arena_test lets one more pass";
  EXPECT_EQ(Compose(Recorded({"MALLOC_ARENA_TEST=100"})).arena_limit, 101u);
}

TEST(EngineEnvironment, TheUsersSettingsGoOverTheRecordedOnes) {
  const Header header = Recorded({"PATH=/bin", "MALLOC_ARENA_MAX=3", "MALLOC_PERTURB_=7",
                                  "GLIBC_TUNABLES=glibc.malloc.arena_max=2:glibc.rtld.nns=5:"
                                  "glibc.malloc.mmap_threshold=0x20000"});
  EXPECT_THAT(Compose(header).variables,
              ElementsAre("GLIBC_TUNABLES=glibc.malloc.arena_max=2:glibc.malloc.mmap_threshold="
                          "131072:glibc.malloc.perturb=7"));
  ReplaySettings settings;
  settings.tunables["glibc.malloc.mmap_threshold"] = "65536";
  const EngineEnvironment environment = Compose(header, settings);
  EXPECT_EQ(environment.tunables.at("glibc.malloc.mmap_threshold"), "65536");
  EXPECT_EQ(environment.tunables.at("glibc.malloc.arena_max"), "2");
  EXPECT_EQ(environment.arena_limit, 0u);
}

// What glibc ignored in the recorded process must not stop a replay.
TEST(EngineEnvironment, RecordedNonsenseIsNoted) {
  const EngineEnvironment environment =
      Compose(Recorded({"GLIBC_TUNABLES=glibc.malloc.mmap_treshold=1:nonsense"}));
  EXPECT_THAT(environment.tunables, IsEmpty());
  EXPECT_THAT(environment.notes, ElementsAre(HasSubstr("mmap_treshold=1")));
}

TEST(EngineEnvironment, AllocatorsByNameAndPath) {
  EXPECT_EQ(*AllocatorPath("glibc"), "");
  EXPECT_EQ(*AllocatorPath("/proc/self/exe"), "/proc/self/exe");
  EXPECT_EQ(AllocatorPath("/nowhere.so").status().code(), absl::StatusCode::kNotFound);
  EXPECT_EQ(AllocatorPath("dlmalloc").status().message(),
            "no allocator dlmalloc; known are glibc, jemalloc, tcmalloc, mimalloc, or the path of "
            "a shared object");
  ReplaySettings settings;
  settings.allocator = "/proc/self/exe";
  EXPECT_THAT(Compose(Recorded({}), settings).variables, ElementsAre("LD_PRELOAD=/proc/self/exe"));
}

}  // namespace
}  // namespace heaptape
