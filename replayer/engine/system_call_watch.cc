#include "replayer/engine/system_call_watch.h"

#include <signal.h>
#include <stdint.h>
#include <sys/syscall.h>
#include <ucontext.h>

#include "replayer/engine/own_pages.h"
#include "replayer/engine/raw_syscall.h"

namespace heaptape {

namespace {

constexpr int kSetSyscallUserDispatch = 59;  // PR_SET_SYSCALL_USER_DISPATCH
constexpr int kDispatchOn = 1;
constexpr uint64_t kSaRestorer = 0x04000000;
constexpr uint64_t kKernelSigsetBytes = 8;
constexpr int kSyscallInstructionBytes = 2;

struct KernelSigaction {
  void (*handler)(int, siginfo_t*, void*);
  uint64_t flags;
  void (*restorer)();
  uint64_t mask;
};

volatile uint8_t g_selector;  // read by the kernel: 0 allow, 1 block
bool g_watching;
SystemCallLog* g_log;
void (*g_seen)(bool changed);

// A child of clone begins with another stack, one of vfork shares ours: neither
// can come back through a handler. The call is made again, unwatched.
bool MustBeMadeInPlace(long number) {
  return number == SYS_clone || number == SYS_clone3 || number == SYS_vfork || number == SYS_fork ||
         number == SYS_rt_sigreturn;
}

void OnSystemCall(int, siginfo_t* info, void* context) {
  greg_t* registers = ((ucontext_t*)context)->uc_mcontext.gregs;
  const long number = info->si_syscall;
  if (MustBeMadeInPlace(number)) {
    g_selector = 0;
    registers[REG_RAX] = number;
    registers[REG_RIP] -= kSyscallInstructionBytes;
    return;
  }
  const long arguments[6] = {registers[REG_RDI], registers[REG_RSI], registers[REG_RDX],
                             registers[REG_R10], registers[REG_R8],  registers[REG_R9]};
  if (number == SYS_rt_sigprocmask) {
    if (uint64_t* old = (uint64_t*)arguments[2]; old != nullptr) *old = 0;
    registers[REG_RAX] = 0;
    return;
  }
  // A thread that ends gives back its stack, which is not the allocator's.
  const bool seen = SystemCallLog::IsMemoryCall(number) && !IsOwn(arguments[0]);
  if (seen) g_log->Before(number, arguments);
  const long result = RawSyscall(number, arguments[0], arguments[1], arguments[2], arguments[3],
                                 arguments[4], arguments[5]);
  registers[REG_RAX] = result;
  if (!seen) return;
  const uint64_t changes = g_log->changes();
  g_log->After(number, arguments, result);
  g_seen(g_log->changes() != changes);
}

bool Dispatch() {
  return RawSyscall(SYS_prctl, kSetSyscallUserDispatch, kDispatchOn, __start_heaptape_syscalls,
                    __stop_heaptape_syscalls - __start_heaptape_syscalls, &g_selector) == 0;
}

}  // namespace

bool StartWatch(SystemCallLog* log, void (*seen)(bool changed)) {
  g_log = log;
  g_seen = seen;
  const KernelSigaction action = {OnSystemCall, SA_SIGINFO | SA_NODEFER | kSaRestorer,
                                  heaptape_signal_restorer, 0};
  if (RawSyscall(SYS_rt_sigaction, SIGSYS, &action, nullptr, kKernelSigsetBytes) != 0) return false;
  g_watching = Dispatch();
  return g_watching;
}

void WatchThisThread() {
  if (g_watching) Dispatch();
}

void SetWatch(bool on) { g_selector = on ? 1 : 0; }

}  // namespace heaptape
