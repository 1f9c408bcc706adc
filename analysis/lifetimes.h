// Lifetimes: how long blocks live, by size.
//
// Mainland. One thread at a time. One pass over the events; memory grows with blocks
// that are live at once. A realloc ends a block and begins another. Ages are in
// events; a block that is still live is as old as it is at the end. Ages are kept in
// buckets of a sixteenth of an octave, so medians are right to 4 %.

#ifndef HEAPTAPE_ANALYSIS_LIFETIMES_H_
#define HEAPTAPE_ANALYSIS_LIFETIMES_H_

#include <array>
#include <cstdint>
#include <map>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/types/span.h"
#include "proto/event.h"
#include "replayer/driver/replay_result.h"

namespace heaptape {

// Blocks of one size class: asked for with min_bytes to max_bytes.
struct LifetimeClass {
  uint64_t min_bytes = 0;  // a power of two, or 0
  uint64_t max_bytes = 0;
  uint64_t count = 0;  // made, ever
  uint64_t bytes = 0;  // that these asked for
  uint64_t median_age = 0;
  uint64_t p99_age = 0;
  uint64_t peak_count = 0, peak_bytes = 0;      // live at the peak
  uint64_t outlive_count = 0, outlive_bytes = 0;  // of these, still live at the end
  // Live at the end, as the replay has them.
  uint64_t live_count = 0;
  uint64_t live_requested_bytes = 0;
  uint64_t live_usable_bytes = 0;

  bool operator==(const LifetimeClass&) const = default;
};

struct LifetimeReport {
  uint64_t at_event = 0;
  uint64_t peak_event = 0;
  std::vector<LifetimeClass> classes;  // not empty ones, by size
  LifetimeClass all;                   // ages and sums over all of them
};

class Lifetimes {
 public:
  // `peak_event`: which moment to look at the living of.
  explicit Lifetimes(uint64_t peak_event) : peak_event_(peak_event) {}

  void Add(uint64_t first_event, absl::Span<const Event> events);
  // `result` is of the replay of the same events.
  LifetimeReport Finish(const ReplayResult& result);

 private:
  static constexpr int kSubBits = 4;
  static constexpr size_t kAgeBuckets = (64 - kSubBits + 1) << kSubBits;

  struct Block {
    uint64_t bytes;
    uint64_t event;
  };
  struct ClassState {
    LifetimeClass totals;
    std::array<uint64_t, kAgeBuckets> ages = {};
  };

  static size_t AgeBucket(uint64_t age);
  static uint64_t BucketAge(size_t bucket);
  static uint64_t Quantile(const std::array<uint64_t, kAgeBuckets>& ages, uint64_t count, double quantile);
  ClassState& ClassOf(uint64_t bytes);
  void Born(uint64_t address, uint64_t bytes, uint64_t event);
  void Died(uint64_t address, uint64_t event, bool at_end);
  void Aged(const Block& block, uint64_t event, bool at_end);

  const uint64_t peak_event_;
  uint64_t last_event_ = 0;
  absl::flat_hash_map<uint64_t, Block> live_;
  std::map<uint64_t, ClassState> classes_;  // by min_bytes
};

}  // namespace heaptape

#endif  // HEAPTAPE_ANALYSIS_LIFETIMES_H_
