#include "replayer/engine/plan_ring.h"

#include <linux/futex.h>
#include <sys/syscall.h>
#include <time.h>

#include "replayer/engine/own_pages.h"
#include "replayer/engine/raw_syscall.h"

namespace heaptape {

namespace {

// Words given out at once: a few hundred microseconds of work, which is also how
// long a request to stop may go unnoticed.
constexpr uint64_t kStretch = 16 << 10;
// Where blocks are touched a word may cost thousands of page faults.
constexpr uint64_t kTouchedStretch = 512;

// Words read that stay in the address space. A plan that is kept can be of hundreds of
// megabytes, and is resident in the driver already.
constexpr uint64_t kReadWords = 1 << 20;

constexpr long kWaitNs = 50'000'000;

constexpr uint64_t Least(uint64_t a, uint64_t b) { return a < b ? a : b; }

}  // namespace

const char* PlanRing::Init(int fd, SharedHeader* shared, const volatile int* stop) {
  shared_ = shared;
  stop_ = stop;
  const uint64_t words = shared->ring_words;
  if (words == 0 || (words & (words - 1)) != 0) return "the ring's size is no power of two";
  words_ = (const uint64_t*)MapOwnFile(fd, 0, words * sizeof(uint64_t), false);
  if (words_ == nullptr) return "cannot map the ring";
  mask_ = words - 1;
  stretch_ = shared->touch == Touch::kPages ? kTouchedStretch : kStretch;
  position_ = woken_ = prepared_ = released_ = wait_ns_ = 0;
  return nullptr;
}

bool PlanRing::Next(const uint64_t** begin, const uint64_t** end) {
  // Matched by the driver's acquire, before it writes over what was read.
  __atomic_store_n(&shared_->consumed, position_, __ATOMIC_RELEASE);
  // Matched by the driver's release, after it has written the words.
  uint64_t committed = __atomic_load_n(&shared_->committed, __ATOMIC_ACQUIRE);
  // Not for each short stretch: the driver would be awake all the time.
  if (committed == position_ || position_ - woken_ >= kStretch) {
    woken_ = position_;
    __atomic_fetch_add(&shared_->consumed_futex, 1, __ATOMIC_SEQ_CST);
    RawSyscall(SYS_futex, &shared_->consumed_futex, FUTEX_WAKE, 1, nullptr, nullptr, 0);
  }
  if (committed == position_) {
    const uint64_t began = NowNs();
    for (;;) {
      const uint32_t seen = __atomic_load_n(&shared_->committed_futex, __ATOMIC_ACQUIRE);
      committed = __atomic_load_n(&shared_->committed, __ATOMIC_ACQUIRE);
      if (committed != position_ || Stopped()) break;
      const struct timespec wait = {0, kWaitNs};
      RawSyscall(SYS_futex, &shared_->committed_futex, FUTEX_WAIT, seen, &wait, nullptr, 0);
    }
    wait_ns_ += NowNs() - began;
  }
  if (Stopped()) return false;

  const uint64_t at = position_ & mask_;
  uint64_t count = committed - position_;
  if (count > stretch_) count = stretch_;
  if (count > mask_ + 1 - at) count = mask_ + 1 - at;
  if (at == 0) prepared_ = released_ = 0;
  if (at - released_ >= kReadWords) {
    ReleaseOwnFile(words_ + released_, (at - released_) * sizeof(uint64_t));
    released_ = at;
  }
  // Many pages at once, and those that are only looked at ahead: a page fault that the
  // loop met would count as the allocator's.
  const uint64_t needed = Least(at + count + kReadAhead, mask_ + 1);
  if (needed > prepared_) {
    const uint64_t end_of_prepared = Least(needed + kStretch, mask_ + 1);
    PrepareOwnForReading(words_ + prepared_, (end_of_prepared - prepared_) * sizeof(uint64_t));
    prepared_ = end_of_prepared;
  }
  *begin = words_ + at;
  *end = words_ + at + count;
  position_ += count;
  return true;
}

bool PlanRing::Stopped() const {
  return *stop_ != 0 || __atomic_load_n(&shared_->stop, __ATOMIC_RELAXED) != 0;
}

}  // namespace heaptape
