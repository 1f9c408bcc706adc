// The clocks by which the collector acts and stamps what it writes.
//
// Mainland. Thread-safe.

#ifndef HEAPTAPE_RECORDER_COLLECTOR_CLOCK_H_
#define HEAPTAPE_RECORDER_COLLECTOR_CLOCK_H_

#include <time.h>

#include <cstdint>

namespace heaptape {

// CLOCK_MONOTONIC.
inline uint64_t MonotonicNs() {
  timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return static_cast<uint64_t>(now.tv_sec) * 1'000'000'000 + static_cast<uint64_t>(now.tv_nsec);
}

// What this thread has worked.
inline uint64_t ThreadCpuNs() {
  timespec now;
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  return static_cast<uint64_t>(now.tv_sec) * 1'000'000'000 + static_cast<uint64_t>(now.tv_nsec);
}

}  // namespace heaptape

#endif  // HEAPTAPE_RECORDER_COLLECTOR_CLOCK_H_
