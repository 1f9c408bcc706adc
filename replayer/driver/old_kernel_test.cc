// Replays where the kernel, or a sandbox, grants less: no syscall user dispatch
// and no personality().

#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>

#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "gtest/gtest.h"
#include "replayer/driver/replayer.h"
#include "replayer/driver/toy_program.h"
#include "replayer/driver/toy_replay.h"

namespace heaptape {
namespace {

constexpr uint32_t kSetSyscallUserDispatch = 59;

// From now on this process and its children may not call `number`, with `argument`
// as the first argument if one is given.
bool Refuse(long number, std::optional<uint32_t> argument = std::nullopt) {
  const auto load = [](uint32_t offset) {
    return sock_filter BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offset);
  };
  const auto unless = [](uint32_t value, uint8_t skip) {
    return sock_filter BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, value, 0, skip);
  };
  const auto give = [](uint32_t value) { return sock_filter BPF_STMT(BPF_RET | BPF_K, value); };
  std::vector<sock_filter> filter = {load(offsetof(seccomp_data, nr))};
  if (argument.has_value()) {
    filter.push_back(unless(number, 3));
    filter.push_back(load(offsetof(seccomp_data, args[0])));
    filter.push_back(unless(*argument, 1));
  } else {
    filter.push_back(unless(number, 1));
  }
  filter.push_back(give(SECCOMP_RET_ERRNO | EPERM));
  filter.push_back(give(SECCOMP_RET_ALLOW));
  const sock_fprog program = {static_cast<unsigned short>(filter.size()), filter.data()};
  return prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0 &&
         prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) == 0;
}

// Limits on address space count what is mapped, used or not.
TEST(OldKernel, LittleAddressSpaceIsEnough) {
  ToyProgram program;
  for (uint32_t thread = 0; thread < 300; ++thread) program.Thread(thread).Malloc(1000 + thread);
  program.Thread(0).FillAndFree(100000, 100, true);
  const ReplayResult unlimited = Replayed(program, With("arena_max", "2"));
  rlimit before;
  ASSERT_EQ(getrlimit(RLIMIT_AS, &before), 0);
  // 512 MiB are the plan; each arena reserves 64 MiB.
  const rlimit limit = {uint64_t{3} << 29, before.rlim_max};
  ASSERT_EQ(setrlimit(RLIMIT_AS, &limit), 0);
  const ReplayResult limited = Replayed(program, With("arena_max", "2"));
  ASSERT_EQ(setrlimit(RLIMIT_AS, &before), 0);
  EXPECT_EQ(limited.lanes, 300u);
  EXPECT_EQ(limited.digest, unlimited.digest);
}

// Each of these leaves less for the next.

TEST(OldKernel, WithAddressesAtRandomAllIsSeenAllTheSame) {
  ToyProgram program;
  program.Churn(2, 50000, 1000, 300000, 3);
  const ReplayResult fixed = Replayed(program);
  ASSERT_TRUE(Refuse(SYS_personality));
  for (int i = 0; i < 10; ++i) {
    const ReplayResult random = Replayed(program);
    EXPECT_FALSE(random.settings.aslr_disabled);
    EXPECT_GT(random.settings.rewritten_call_sites, 0u);
    EXPECT_EQ(random.digest, fixed.digest);
    EXPECT_EQ(random.syscalls.mmap, fixed.syscalls.mmap);
    EXPECT_EQ(random.syscalls.brk, fixed.syscalls.brk);
    EXPECT_EQ(random.system_bytes, fixed.system_bytes);
  }
}

TEST(OldKernel, ReplaysAllTheSame) {
  ASSERT_TRUE(Refuse(SYS_prctl, kSetSyscallUserDispatch));
  ToyProgram program;
  program.Churn(1, 50000, 1000, 300000, 3);
  Header header;
  header.set_cpus(8);
  auto replayer = Replayer::Create(EventsInMemory(header, program.events()));
  ASSERT_TRUE(replayer.ok());
  const auto result = (*replayer)->Run({});
  ASSERT_TRUE(result.ok()) << result.status();
  EXPECT_FALSE(result->settings.aslr_disabled);
  EXPECT_FALSE(result->settings.syscalls_seen);
  EXPECT_EQ(result->syscalls.brk, 0u);
  EXPECT_EQ(result->events_done, 50000u);
  // Regions are what /proc/self/maps shows in the end.
  EXPECT_EQ(result->system_bytes, result->mallinfo_arena + result->mallinfo_hblkhd);
  for (const LiveBlock& block : result->blocks) {
    bool inside = false;
    for (const Region& region : result->regions) {
      inside |= block.address >= region.lo && block.address + block.usable_bytes <= region.hi;
    }
    ASSERT_TRUE(inside);
  }
}

}  // namespace
}  // namespace heaptape
