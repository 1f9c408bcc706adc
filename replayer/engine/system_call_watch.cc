#include "replayer/engine/system_call_watch.h"

#include <signal.h>
#include <stdint.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <ucontext.h>

#include "replayer/engine/call_sites.h"
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
bool g_rewriting;
uint32_t g_overcommit;
SystemCallLog* g_log;
void (*g_seen)(bool changed);

// A child of clone begins with another stack, one of vfork shares ours: neither
// can come back through a handler. The call is made again, unwatched.
bool MustBeMadeInPlace(long number) {
  return number == SYS_clone || number == SYS_clone3 || number == SYS_vfork || number == SYS_fork ||
         number == SYS_rt_sigreturn;
}

long Make(long number, const long arguments[6]) {
  return RawSyscall(number, arguments[0], arguments[1], arguments[2], arguments[3], arguments[4],
                    arguments[5]);
}

// Makes a memory call, and logs it.
long MakeAndLog(long number, const long arguments[6]) {
  // A thread that ends gives back its stack, which is not the allocator's.
  if (IsOwn(arguments[0])) return Make(number, arguments);
  g_log->Before(number, arguments);
  const long result = Make(number, arguments);
  const uint64_t changes = g_log->changes();
  g_log->After(number, arguments, result);
  g_seen(g_log->changes() != changes);
  return result;
}

// A file with that number in it.
long OpenNumber(uint32_t number) {
  const char text[2] = {(char)('0' + number % 10), '\n'};
  const long fd = RawSyscall(SYS_memfd_create, "heaptape overcommit", MFD_CLOEXEC);
  if (fd < 0) return fd;
  RawSyscall(SYS_pwrite64, fd, text, sizeof text, 0);
  return fd;
}

bool IsOvercommitFile(const char* path) {
  return path != nullptr && strcmp(path, "/proc/sys/vm/overcommit_memory") == 0;
}

// What a rewritten call site calls, in whatever thread. Those that we watch
// have stacks of ours, save the first.
long OnRewrittenCall(long number, const long arguments[6]) {
  const bool watched = IsOwn((uint64_t)arguments) || CallSites::OnMainStack((uint64_t)arguments);
  return g_selector != 0 && watched ? MakeAndLog(number, arguments) : Make(number, arguments);
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
  if (number == SYS_openat && IsOvercommitFile((const char*)arguments[1])) {
    registers[REG_RAX] = OpenNumber(g_overcommit);
    return;
  }
  if (!SystemCallLog::IsMemoryCall(number)) {
    registers[REG_RAX] = Make(number, arguments);
    return;
  }
  registers[REG_RAX] = MakeAndLog(number, arguments);
  if (g_rewriting) CallSites::Rewrite(number, registers[REG_RIP]);
}

bool Dispatch() {
  return RawSyscall(SYS_prctl, kSetSyscallUserDispatch, kDispatchOn, __start_heaptape_syscalls,
                    __stop_heaptape_syscalls - __start_heaptape_syscalls, &g_selector) == 0;
}

}  // namespace

bool StartWatch(SystemCallLog* log, void (*seen)(bool changed), bool rewrite, uint32_t overcommit) {
  g_overcommit = overcommit;
  g_log = log;
  g_seen = seen;
  const KernelSigaction action = {OnSystemCall, SA_SIGINFO | SA_NODEFER | kSaRestorer,
                                  heaptape_signal_restorer, 0};
  if (RawSyscall(SYS_rt_sigaction, SIGSYS, &action, nullptr, kKernelSigsetBytes) != 0) return false;
  g_watching = Dispatch();
  g_rewriting = g_watching && rewrite && CallSites::Init(OnRewrittenCall);
  return g_watching;
}

void WatchThisThread() {
  if (g_watching) Dispatch();
}

void SetWatch(bool on) { g_selector = on ? 1 : 0; }

}  // namespace heaptape
