#include "replayer/engine/memory_call_ring.h"

#include <linux/futex.h>
#include <sys/syscall.h>
#include <time.h>

#include "replayer/engine/own_pages.h"
#include "replayer/engine/raw_syscall.h"

namespace heaptape {

namespace {
constexpr long kWaitNs = 1'000'000;
}  // namespace

void MemoryCallRing::Init(SharedHeader* shared, MemoryCall* calls, const volatile int* stop) {
  shared_ = shared;
  calls_ = calls;
  stop_ = stop;
  PrepareOwn(calls, kMemoryCallCapacity * sizeof(MemoryCall));
}

void MemoryCallRing::Append(const MemoryCall& call) {
  const uint32_t written = shared_->calls_written;  // ours alone
  // Matched by the driver's release, after it has read them.
  const uint32_t read = __atomic_load_n(&shared_->calls_read, __ATOMIC_ACQUIRE);
  if (written - read >= kMemoryCallCapacity && !AwaitRoom(written)) return;
  calls_[written & (kMemoryCallCapacity - 1)] = call;
  // Matched by the driver's acquire, before it reads them.
  __atomic_store_n(&shared_->calls_written, written + 1, __ATOMIC_RELEASE);
}

bool MemoryCallRing::AwaitRoom(uint32_t written) {
  for (;;) {
    const uint32_t read = __atomic_load_n(&shared_->calls_read, __ATOMIC_ACQUIRE);
    if (written - read < kMemoryCallCapacity) return true;
    if (*stop_ != 0 || __atomic_load_n(&shared_->stop, __ATOMIC_RELAXED) != 0) return false;
    // The driver may be asleep until words are consumed.
    __atomic_fetch_add(&shared_->consumed_futex, 1, __ATOMIC_SEQ_CST);
    RawSyscall(SYS_futex, &shared_->consumed_futex, FUTEX_WAKE, 1, nullptr, nullptr, 0);
    const struct timespec wait = {0, kWaitNs};
    RawSyscall(SYS_futex, &shared_->calls_read, FUTEX_WAIT, read, &wait, nullptr, 0);
  }
}

}  // namespace heaptape
