#include "replayer/engine/raw_syscall.h"

namespace heaptape {

#define HEAPTAPE_SYSCALL_SECTION __attribute__((section("heaptape_syscalls"), naked, used))

// From the C calling convention to the kernel's.
extern "C" HEAPTAPE_SYSCALL_SECTION long heaptape_raw_syscall(long, long, long, long, long, long,
                                                              long) {
  asm("mov %rdi, %rax\n"
      "mov %rsi, %rdi\n"
      "mov %rdx, %rsi\n"
      "mov %rcx, %rdx\n"
      "mov %r8, %r10\n"
      "mov %r9, %r8\n"
      "mov 8(%rsp), %r9\n"
      "syscall\n"
      "ret");
}

extern "C" HEAPTAPE_SYSCALL_SECTION void heaptape_signal_restorer() {
  asm("mov $15, %eax\n"  // rt_sigreturn
      "syscall");
}

}  // namespace heaptape
