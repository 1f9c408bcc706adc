// Replays where the kernel, or a sandbox, grants less: no syscall user dispatch
// and no personality().

#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sys/prctl.h>
#include <sys/syscall.h>

#include <cerrno>
#include <cstddef>

#include "gtest/gtest.h"
#include "replayer/driver/replayer.h"
#include "replayer/driver/toy_program.h"

namespace heaptape {
namespace {

constexpr uint32_t kSetSyscallUserDispatch = 59;

// From now on this process and its children live with an older kernel.
bool GoBackInTime() {
  const auto load = [](uint32_t offset) {
    return sock_filter BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offset);
  };
  const auto jump_if = [](uint32_t value, uint8_t yes, uint8_t no) {
    return sock_filter BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, value, yes, no);
  };
  const auto give = [](uint32_t value) { return sock_filter BPF_STMT(BPF_RET | BPF_K, value); };
  sock_filter filter[] = {
      load(offsetof(seccomp_data, nr)),
      jump_if(SYS_personality, 3, 0),
      jump_if(SYS_prctl, 0, 3),
      load(offsetof(seccomp_data, args[0])),
      jump_if(kSetSyscallUserDispatch, 0, 1),
      give(SECCOMP_RET_ERRNO | EPERM),
      give(SECCOMP_RET_ALLOW),
  };
  const sock_fprog program = {sizeof(filter) / sizeof(filter[0]), filter};
  return prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0 &&
         prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) == 0;
}

TEST(OldKernel, ReplaysAllTheSame) {
  ASSERT_TRUE(GoBackInTime());
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
