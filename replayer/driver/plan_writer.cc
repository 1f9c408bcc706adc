#include "replayer/driver/plan_writer.h"

#include <linux/futex.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>

namespace heaptape {

bool PlanWriter::Write(absl::Span<const uint64_t> words) {
  const uint64_t capacity = shared_->ring_words;
  while (!words.empty()) {
    const uint32_t seen = __atomic_load_n(&shared_->consumed_futex, __ATOMIC_ACQUIRE);
    // Matched by the engine's release, after it has read the words.
    const uint64_t consumed = __atomic_load_n(&shared_->consumed, __ATOMIC_ACQUIRE);
    const uint64_t room = capacity - (written_ - consumed);
    if (room == 0) {
      AwaitEngine(shared_, seen);
      if (!go_on_()) return false;
      continue;
    }
    const uint64_t at = written_ & (capacity - 1);
    const uint64_t count = std::min({room, capacity - at, static_cast<uint64_t>(words.size())});
    std::memcpy(ring_ + at, words.data(), count * sizeof(uint64_t));
    words.remove_prefix(count);
    written_ += count;
    // Matched by the engine's acquire, before it reads the words.
    __atomic_store_n(&shared_->committed, written_, __ATOMIC_RELEASE);
    __atomic_fetch_add(&shared_->committed_futex, 1, __ATOMIC_SEQ_CST);
    syscall(SYS_futex, &shared_->committed_futex, FUTEX_WAKE, 1, nullptr, nullptr, 0);
  }
  return true;
}

void AwaitEngine(SharedHeader* shared, uint32_t seen) {
  const timespec wait = {0, 50'000'000};
  syscall(SYS_futex, &shared->consumed_futex, FUTEX_WAIT, seen, &wait, nullptr, 0);
}

EngineState StateOf(const SharedHeader& shared) {
  // Matched by the engine's release, after it has written what the state promises.
  return __atomic_load_n(&shared.state, __ATOMIC_ACQUIRE);
}

}  // namespace heaptape
