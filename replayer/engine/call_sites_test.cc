#include "replayer/engine/call_sites.h"

#include <dlfcn.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <cstring>

#include "gtest/gtest.h"
#include "replayer/engine/raw_syscall.h"

namespace heaptape {
namespace {

constexpr size_t kPage = 4096;

// Behind the syscall instruction of libc's function, found as the kernel would
// tell.
uint64_t BackOf(const char* name, long number) {
  const char* function = static_cast<const char*>(dlsym(RTLD_NEXT, name));
  for (int i = 0; i < 120; ++i) {
    const char* site = function + i;
    uint32_t operand;
    std::memcpy(&operand, site + 1, sizeof(operand));
    if (*site == '\xb8' && operand == number && std::memcmp(site + 5, "\x0f\x05", 2) == 0) {
      return reinterpret_cast<uint64_t>(site + 7);
    }
  }
  return 0;
}

uint64_t g_back;
int g_calls;
long g_number;

// Makes the call and leaves no vector register as it was.
long Make(long number, const long a[6]) {
  ++g_calls;
  g_number = number;
  asm volatile(
      "pcmpeqd %%xmm0, %%xmm0\n pcmpeqd %%xmm1, %%xmm1\n pcmpeqd %%xmm7, "
      "%%xmm7\n"
      "pcmpeqd %%xmm8, %%xmm8\n pcmpeqd %%xmm15, %%xmm15\n"
      :
      :
      : "xmm0", "xmm1", "xmm7", "xmm8", "xmm15");
  if (__builtin_cpu_supports("avx")) asm volatile("vzeroall");
  return RawSyscall(number, a[0], a[1], a[2], a[3], a[4], a[5]);
}

class CallSitesTest : public testing::Test {
 protected:
  static void SetUpTestSuite() {
    ASSERT_TRUE(CallSites::Init(Make));
    const uint64_t back = g_back = BackOf("munmap", SYS_munmap);
    ASSERT_NE(back, 0u) << "munmap of this libc looks otherwise";
    EXPECT_FALSE(CallSites::Rewrite(SYS_mmap, back));
    EXPECT_FALSE(CallSites::Rewrite(SYS_munmap, back + 1));
    EXPECT_FALSE(CallSites::Rewrite(SYS_getpid, back));
    EXPECT_EQ(CallSites::count(), 0u);
    EXPECT_TRUE(CallSites::Rewrite(SYS_munmap, back));
    EXPECT_EQ(CallSites::count(), 1u);
    EXPECT_FALSE(CallSites::Rewrite(SYS_munmap, back)) << "it is rewritten already";
  }

  void SetUp() override { g_calls = 0; }
};

TEST_F(CallSitesTest, CallsAreMade) {
  void* page = mmap(nullptr, kPage, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  ASSERT_NE(page, MAP_FAILED);
  EXPECT_EQ(g_calls, 0);
  EXPECT_EQ(munmap(page, kPage), 0);
  EXPECT_EQ(g_calls, 1);
  EXPECT_EQ(g_number, SYS_munmap);
  unsigned char present;
  EXPECT_EQ(mincore(page, kPage, &present), -1);
  EXPECT_EQ(errno, ENOMEM);

  EXPECT_EQ(munmap(reinterpret_cast<void*>(1), kPage), -1);
  EXPECT_EQ(errno, EINVAL);
  EXPECT_EQ(g_calls, 2);
}

// Whoever jumps there, with the number in eax, finds it.
TEST_F(CallSitesTest, TheSyscallInstructionStays) {
  EXPECT_EQ(std::memcmp(reinterpret_cast<const void*>(g_back - 2), "\x0f\x05", 2), 0);
}

TEST_F(CallSitesTest, OnlyTheMainStackIsTheMainStack) {
  char here;
  EXPECT_TRUE(CallSites::OnMainStack(reinterpret_cast<uint64_t>(&here)));
  void* page = mmap(nullptr, kPage, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  EXPECT_FALSE(CallSites::OnMainStack(reinterpret_cast<uint64_t>(page)));
  munmap(page, kPage);
}

struct State {
  uint8_t vectors[16][32];
  uint64_t red_zone[16];  // of the function that is called
  uint64_t rdi, rsi, rdx, r8, r9, r10, rbp, r12, r13, r14, r15;
};
static_assert(offsetof(State, red_zone) == 512 && offsetof(State, rdi) == 640);

// Calls `function` with everything as in *state, and notes in *state how it is
// left.
extern "C" void heaptape_call_with_state(State* state, int (*function)(void*, size_t));
asm(R"(
  .globl heaptape_call_with_state
heaptape_call_with_state:
  push %rbx
  push %rbp
  push %r12
  push %r13
  push %r14
  push %r15
  mov %rdi, %rbx
  mov %rsi, %rax
  .irp n, 0,1,2,3,4,5,6,7,8,9,10,11,12,13,14,15
  vmovdqu 32*\n(%rbx), %ymm\n
  mov 512+8*\n(%rbx), %rcx
  mov %rcx, -16-8*\n(%rsp)
  .endr
  mov 640(%rbx), %rdi
  mov 648(%rbx), %rsi
  mov 656(%rbx), %rdx
  mov 664(%rbx), %r8
  mov 672(%rbx), %r9
  mov 680(%rbx), %r10
  mov 688(%rbx), %rbp
  mov 696(%rbx), %r12
  mov 704(%rbx), %r13
  mov 712(%rbx), %r14
  mov 720(%rbx), %r15
  call *%rax
  mov %rdi, 640(%rbx)
  mov %rsi, 648(%rbx)
  mov %rdx, 656(%rbx)
  mov %r8, 664(%rbx)
  mov %r9, 672(%rbx)
  mov %r10, 680(%rbx)
  mov %rbp, 688(%rbx)
  mov %r12, 696(%rbx)
  mov %r13, 704(%rbx)
  mov %r14, 712(%rbx)
  mov %r15, 720(%rbx)
  .irp n, 0,1,2,3,4,5,6,7,8,9,10,11,12,13,14,15
  vmovdqu %ymm\n, 32*\n(%rbx)
  mov -16-8*\n(%rsp), %rcx
  mov %rcx, 512+8*\n(%rbx)
  .endr
  vzeroupper
  pop %r15
  pop %r14
  pop %r13
  pop %r12
  pop %rbp
  pop %rbx
  ret
)");

// The kernel keeps all registers but three, and what lies below the stack
// pointer; so must what stands for it.
TEST_F(CallSitesTest, EverythingIsPreservedThatASystemCallPreserves) {
  if (!__builtin_cpu_supports("avx")) GTEST_SKIP() << "no AVX registers to look at";
  void* page = mmap(nullptr, kPage, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  ASSERT_NE(page, MAP_FAILED);
  State before;
  auto* bytes = reinterpret_cast<uint8_t*>(&before);
  for (size_t i = 0; i < sizeof(before); ++i) bytes[i] = static_cast<uint8_t>(i * 7 + i / 256);
  before.rdi = reinterpret_cast<uint64_t>(page);
  before.rsi = kPage;
  State after = before;
  heaptape_call_with_state(&after, munmap);
  EXPECT_EQ(g_calls, 1);
  EXPECT_EQ(std::memcmp(before.vectors, after.vectors, sizeof(before.vectors)), 0);
  EXPECT_EQ(std::memcmp(before.red_zone, after.red_zone, sizeof(before.red_zone)), 0);
  EXPECT_EQ(std::memcmp(&before.rdi, &after.rdi, sizeof(before) - offsetof(State, rdi)), 0);
}

}  // namespace
}  // namespace heaptape
