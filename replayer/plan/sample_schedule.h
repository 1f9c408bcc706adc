// SampleSchedule: after which events the engine takes a sample.
//
// Mainland, plan compiler only. A timeline must have enough points for a trace
// of a thousand events and no more than fit for one of a billion. So: one sample
// before the first event, then one at each multiple of an interval, the smallest
// power of two with which all of the expected events get by. Where the length is
// not known, or was not true, there is a way out: when kSampleCapacity samples are
// there, every other is dropped and the interval doubles. Sample i stands at event
// i * interval() - save that the last one stands at the end, and that a gap in the
// trace pushes those behind it.

#ifndef HEAPTAPE_REPLAYER_PLAN_SAMPLE_SCHEDULE_H_
#define HEAPTAPE_REPLAYER_PLAN_SAMPLE_SCHEDULE_H_

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "replayer/plan/instruction.h"

namespace heaptape {

class SampleSchedule {
 public:
  // 0 events: it is not known how many there will be.
  explicit SampleSchedule(uint64_t expected_events) {
    if (expected_events == 0) return;
    // Beside those at multiples, the first and the last.
    const uint64_t most = kSampleCapacity - 2;
    interval_ = std::bit_ceil(std::min(expected_events, kMostExpected) / most + 1);
  }

  // The next sample is due when this many events are done.
  uint64_t next_event() const { return next_event_; }
  uint64_t interval() const { return interval_; }

  bool full() const { return requested_bytes_.size() == kSampleCapacity; }

  // Drops samples 1, 3, 5 ... REQUIRES: full().
  void Halve() {
    for (size_t i = 0; i < kSampleCapacity / 2; ++i) requested_bytes_[i] = requested_bytes_[2 * i];
    requested_bytes_.resize(kSampleCapacity / 2);
    interval_ *= 2;
  }

  // Notes a sample taken after `event`; returns its number. REQUIRES: !full().
  size_t Take(uint64_t event, uint64_t requested_bytes) {
    requested_bytes_.push_back(requested_bytes);
    next_event_ = (event / interval_ + 1) * interval_;
    return requested_bytes_.size() - 1;
  }

  // Requested bytes at each sample that is kept.
  const std::vector<uint64_t>& requested_bytes() const { return requested_bytes_; }

 private:
  static constexpr uint64_t kMostExpected = uint64_t{1} << 60;

  uint64_t interval_ = 256;
  uint64_t next_event_ = 0;
  std::vector<uint64_t> requested_bytes_;
};

}  // namespace heaptape

#endif  // HEAPTAPE_REPLAYER_PLAN_SAMPLE_SCHEDULE_H_
