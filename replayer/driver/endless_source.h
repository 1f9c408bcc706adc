// EndlessSource: a trace that is made up as it is read, and is nowhere in memory.
//
// Mainland, for tests and benchmarks alone.

#ifndef HEAPTAPE_REPLAYER_DRIVER_ENDLESS_SOURCE_H_
#define HEAPTAPE_REPLAYER_DRIVER_ENDLESS_SOURCE_H_

#include <cstdint>
#include <memory>
#include <vector>

#include "replayer/driver/event_source.h"

namespace heaptape {

// Marsaglia's xorshift64.
class Xorshift {
 public:
  uint64_t Next() {
    state_ ^= state_ << 13;
    state_ ^= state_ >> 7;
    state_ ^= state_ << 17;
    return state_;
  }

 private:
  uint64_t state_ = 88172645463325252;
};

// 100,000 live blocks, freed at random.
class EndlessSource : public EventSource {
 public:
  explicit EndlessSource(uint64_t count) : count_(count), live_(100000) {}

  const Header& header() const override { return header_; }
  absl::StatusOr<bool> Next(std::vector<Event>* events) override {
    first_event_ = health_.last_event + 1;
    events->clear();
    if (health_.last_event >= count_) return false;
    while (events->size() < 65536) {
      const uint64_t dice = random_.Next();
      uint64_t& block = live_[(dice >> 32) % live_.size()];
      events->push_back({.address = block, .kind = EventKind::kFree});
      if (block == 0) block = next_ += 1024;
      events->push_back({.address = block, .size = 16 + dice % 200});
    }
    health_.last_event += events->size();
    return true;
  }
  uint64_t first_event() const override { return first_event_; }
  const TraceHealth& health() const override { return health_; }
  uint64_t EventsAhead() const override { return count_; }
  double fraction_read() const override {
    return static_cast<double>(health_.last_event) / count_;
  }

 private:
  const uint64_t count_;
  Header header_;
  TraceHealth health_;
  Xorshift random_;
  std::vector<uint64_t> live_;
  uint64_t next_ = 16;
  uint64_t first_event_ = 1;
};

// At least `count` events of this kind.
inline EventSourceFactory MadeUpEvents(uint64_t count) {
  return [count]() -> absl::StatusOr<std::unique_ptr<EventSource>> {
    return std::make_unique<EndlessSource>(count);
  };
}

}  // namespace heaptape

#endif  // HEAPTAPE_REPLAYER_DRIVER_ENDLESS_SOURCE_H_
