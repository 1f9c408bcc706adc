// System calls without libc: no errno, no cancellation point, no lock, no TLS.
//
// Freestanding; for island code, which runs inside a stranger's program at any
// moment, also before libc is ready. Each returns what the kernel does: a
// negative errno on failure.

#ifndef HEAPTAPE_RECORDER_RAW_SYSCALL_H_
#define HEAPTAPE_RECORDER_RAW_SYSCALL_H_

#include <fcntl.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/vfs.h>
#include <time.h>

#if !defined(__x86_64__)
#error "heaptape runs on x86-64 Linux only"
#endif

namespace heaptape::raw {

inline long Syscall(long number, long a = 0, long b = 0, long c = 0, long d = 0, long e = 0, long f = 0) {
  long result;
  register long r10 asm("r10") = d;
  register long r8 asm("r8") = e;
  register long r9 asm("r9") = f;
  asm volatile("syscall"
               : "=a"(result)
               : "a"(number), "D"(a), "S"(b), "d"(c), "r"(r10), "r"(r8), "r"(r9)
               : "rcx", "r11", "memory");
  return result;
}

inline long Word(const void* pointer) { return reinterpret_cast<long>(pointer); }

inline int Open(const char* path, int flags, int mode = 0) {
  return static_cast<int>(Syscall(SYS_openat, AT_FDCWD, Word(path), flags, mode));
}
inline void Close(int fd) { Syscall(SYS_close, fd); }
inline long Read(int fd, void* buffer, size_t bytes) {
  return Syscall(SYS_read, fd, Word(buffer), static_cast<long>(bytes));
}
inline long Write(int fd, const void* buffer, size_t bytes) {
  return Syscall(SYS_write, fd, Word(buffer), static_cast<long>(bytes));
}
// Space is really set aside: a store through a mapping of it cannot fault later.
inline int Allocate(int fd, uint64_t bytes) {
  return static_cast<int>(Syscall(SYS_fallocate, fd, 0, 0, static_cast<long>(bytes)));
}
// What an unprivileged file may still take on the disk of `fd`; all there can be if the
// kernel does not say.
inline uint64_t FreeBytes(int fd) {
  struct statfs disk;
  if (Syscall(SYS_fstatfs, fd, Word(&disk)) != 0) return ~uint64_t{0};
  return static_cast<uint64_t>(disk.f_bavail) * static_cast<uint64_t>(disk.f_bsize);
}
inline int MakeDirectory(const char* path, int mode) {
  return static_cast<int>(Syscall(SYS_mkdirat, AT_FDCWD, Word(path), mode));
}
inline int Unlink(const char* path) { return static_cast<int>(Syscall(SYS_unlinkat, AT_FDCWD, Word(path), 0)); }
// Null on failure.
inline void* Map(void* at, size_t bytes, int protection, int flags, int fd) {
  const long result = Syscall(SYS_mmap, Word(at), static_cast<long>(bytes), protection, flags, fd, 0);
  return result < 0 && result > -4096 ? nullptr : reinterpret_cast<void*>(result);
}
inline void Unmap(void* at, size_t bytes) { Syscall(SYS_munmap, Word(at), static_cast<long>(bytes)); }
inline void* MapPrivate(size_t bytes) {
  return Map(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1);
}
inline int ProcessId() { return static_cast<int>(Syscall(SYS_getpid)); }
inline int ThreadId() { return static_cast<int>(Syscall(SYS_gettid)); }
inline void SleepMicroseconds(long us) {
  const timespec time = {us / 1000000, us % 1000000 * 1000};
  Syscall(SYS_nanosleep, Word(&time), 0);
}
// By system call, since the vDSO may not be mapped where we run.
inline uint64_t MonotonicNs() {
  timespec time = {0, 0};
  Syscall(SYS_clock_gettime, CLOCK_MONOTONIC, Word(&time));
  return static_cast<uint64_t>(time.tv_sec) * 1000000000u + static_cast<uint64_t>(time.tv_nsec);
}

}  // namespace heaptape::raw

#endif  // HEAPTAPE_RECORDER_RAW_SYSCALL_H_
