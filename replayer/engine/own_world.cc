#include "replayer/engine/own_world.h"

#include <errno.h>
#include <stddef.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/types.h>
#include <time.h>

#define HEAPTAPE_EXPORT extern "C" __attribute__((visibility("default"), used))

namespace heaptape {

namespace {

constexpr uint64_t kEventUs = 1;
// So that no difference of two times is taken for "never".
constexpr uint64_t kStartUs = 1000'000'000;

const uint64_t kNoEvent = 0;
const uint64_t* g_event = &kNoEvent;  // a preloaded allocator asks before main
uint64_t g_random = 88172645463325252u;

uint64_t g_passed_us;

uint64_t NowUs() { return kStartUs + *g_event * kEventUs + g_passed_us; }

// Marsaglia's xorshift64.
void FillRandom(unsigned char* bytes, size_t count) {
  for (size_t i = 0; i < count; ++i) {
    g_random ^= g_random << 13;
    g_random ^= g_random >> 7;
    g_random ^= g_random << 17;
    bytes[i] = (unsigned char)(g_random >> 32);
  }
}

// Not raw_syscall.h's: a memory call that an allocator makes this way must be
// seen like any other.
long SystemCall(long number, long a, long b, long c, long d, long e, long f) {
  register long r10 asm("r10") = d;
  register long r8 asm("r8") = e;
  register long r9 asm("r9") = f;
  long result;
  asm volatile("syscall"
               : "=a"(result)
               : "0"(number), "D"(a), "S"(b), "d"(c), "r"(r10), "r"(r8), "r"(r9)
               : "rcx", "r11", "memory");
  return result;
}

}  // namespace

void PassTime(uint64_t us) { g_passed_us += us; }

void SetClock(const uint64_t* event) { g_event = event; }

HEAPTAPE_EXPORT int clock_gettime(clockid_t, struct timespec* time) {
  const uint64_t now = NowUs();
  time->tv_sec = now / 1000000;
  time->tv_nsec = now % 1000000 * 1000;
  return 0;
}

HEAPTAPE_EXPORT int gettimeofday(struct timeval* time, void*) {
  const uint64_t now = NowUs();
  time->tv_sec = now / 1000000;
  time->tv_usec = now % 1000000;
  return 0;
}

HEAPTAPE_EXPORT int sched_getcpu() { return 0; }

HEAPTAPE_EXPORT ssize_t getrandom(void* bytes, size_t count, unsigned) {
  FillRandom((unsigned char*)bytes, count);
  return count;
}

// libc's is variadic; six registers are passed either way.
HEAPTAPE_EXPORT long syscall(long number, long a, long b, long c, long d, long e, long f) {
  if (number == SYS_getrandom) {
    FillRandom((unsigned char*)a, b);
    return b;
  }
  const long result = SystemCall(number, a, b, c, d, e, f);
  if (result < 0 && result > -4096) {
    errno = -result;
    return -1;
  }
  return result;
}

}  // namespace heaptape
