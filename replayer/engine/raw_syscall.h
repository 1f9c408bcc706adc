// RawSyscall: a system call that touches nothing but its registers.
//
// Island; any thread; never allocates. Unlike libc's wrappers it sets no errno,
// so it works while the FS base points at another thread's storage, and its one
// `syscall` instruction lies in a section of its own, which the kernel is told to
// let through while it stops every other (see system_call_watch.h).

#ifndef HEAPTAPE_REPLAYER_ENGINE_RAW_SYSCALL_H_
#define HEAPTAPE_REPLAYER_ENGINE_RAW_SYSCALL_H_

#include <stdint.h>

namespace heaptape {

// The result, or -errno.
extern "C" long heaptape_raw_syscall(long number, long a, long b, long c, long d, long e, long f);

// What a signal handler returns through: rt_sigreturn, in the same section.
extern "C" void heaptape_signal_restorer();

// Bounds of that section.
extern "C" char __start_heaptape_syscalls[] __attribute__((visibility("hidden")));
extern "C" char __stop_heaptape_syscalls[] __attribute__((visibility("hidden")));

template <typename T>
long AsRegister(T value) {
  return (long)value;
}

template <typename... Arguments>
long RawSyscall(long number, Arguments... arguments) {
  const long a[7] = {AsRegister(arguments)..., 0};
  return heaptape_raw_syscall(number, a[0], a[1], a[2], a[3], a[4], a[5]);
}

}  // namespace heaptape

#endif  // HEAPTAPE_REPLAYER_ENGINE_RAW_SYSCALL_H_
