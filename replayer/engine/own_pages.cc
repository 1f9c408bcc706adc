#include "replayer/engine/own_pages.h"

#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <time.h>

#include "replayer/engine/raw_syscall.h"

namespace heaptape {

namespace {

// Nothing is ever here: programs and their brk heap lie at 0x5555..., libraries
// and mmap at 0x7fff..., non-PIE programs below 4 GiB.
constexpr uint64_t kOwnBase = 0x2000'0000'0000;
constexpr uint64_t kOwnEnd = 0x3000'0000'0000;

constexpr int kPopulateRead = 22;  // MADV_POPULATE_READ, Linux 5.14
constexpr int kPopulateWrite = 23;

uint64_t g_next = kOwnBase;
uint64_t g_own_faults;

bool Failed(long result) { return result < 0 && result > -4096; }

uint64_t PageUp(uint64_t bytes) { return (bytes + kPageBytes - 1) & ~(kPageBytes - 1); }

// The next `bytes` of our part of the address space, with a hole behind, so that
// running over an end is a fault.
uint64_t Take(uint64_t bytes) {
  const uint64_t at = g_next;
  g_next += bytes + kPageBytes;
  return at;
}

// Of a process (RUSAGE_SELF), which takes longer the more threads it has, or of the caller.
uint64_t MinorFaultsOf(int who) {
  struct rusage usage;
  RawSyscall(SYS_getrusage, who, &usage);
  return usage.ru_minflt;
}

void Prepare(const void* memory, size_t bytes, int advice) {
  const uint64_t lo = (uint64_t)memory & ~(kPageBytes - 1);
  const uint64_t hi = ((uint64_t)memory + bytes + kPageBytes - 1) & ~(kPageBytes - 1);
  const uint64_t before = MinorFaultsOf(RUSAGE_THREAD);
  RawSyscall(SYS_madvise, lo, hi - lo, advice);
  g_own_faults += MinorFaultsOf(RUSAGE_THREAD) - before;
}

}  // namespace

void* MapOwn(size_t bytes) {
  bytes = PageUp(bytes);
  const long at =
      RawSyscall(SYS_mmap, g_next, bytes, PROT_READ | PROT_WRITE,
                 MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED_NOREPLACE, -1, 0);
  if (Failed(at)) return nullptr;
  Take(bytes);
  // Transparent huge pages would make what is resident depend on luck.
  RawSyscall(SYS_madvise, at, bytes, MADV_NOHUGEPAGE);
  return (void*)at;
}

void* MapOwnFile(int fd, uint64_t offset, size_t bytes, bool writable) {
  char* at = (char*)PlaceOwnFile(bytes + kPageBytes);
  if (!MapOwnFileAt(at, fd, offset, bytes, writable)) return nullptr;
  const long zeros = RawSyscall(SYS_mmap, at + PageUp(bytes), kPageBytes, PROT_READ,
                                MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, -1, 0);
  return Failed(zeros) ? nullptr : at;
}

void* PlaceOwnFile(size_t bytes) { return (void*)Take(PageUp(bytes)); }

bool MapOwnFileAt(void* at, int fd, uint64_t offset, size_t bytes, bool writable) {
  const int protection = writable ? PROT_READ | PROT_WRITE : PROT_READ;
  return !Failed(
      RawSyscall(SYS_mmap, at, bytes, protection, MAP_SHARED | MAP_FIXED_NOREPLACE, fd, offset));
}

bool IsOwn(uint64_t address) { return address >= kOwnBase && address < kOwnEnd; }

void PrepareOwn(void* memory, size_t bytes) { Prepare(memory, bytes, kPopulateWrite); }

void PrepareOwnForReading(const void* memory, size_t bytes) {
  Prepare(memory, bytes, kPopulateRead);
}

void ReleaseOwnFile(const void* memory, size_t bytes) {
  const uint64_t lo = (uint64_t)memory & ~(kPageBytes - 1);
  const uint64_t hi = ((uint64_t)memory + bytes) & ~(kPageBytes - 1);
  RawSyscall(SYS_madvise, lo, hi - lo, MADV_DONTNEED);
}

uint64_t MinorFaults() { return MinorFaultsOf(RUSAGE_SELF); }

uint64_t OwnMinorFaults() { return g_own_faults; }

uint64_t NowNs() {
  struct timespec now;
  RawSyscall(SYS_clock_gettime, CLOCK_MONOTONIC, &now);
  return (uint64_t)now.tv_sec * 1000000000 + now.tv_nsec;
}

}  // namespace heaptape
