// GrowthLog: each step up of an allocator's system bytes, in bounded memory.
//
// Mainland. One thread at a time. A step is a memory system call by which system
// bytes rose, with the event that caused it. Whoever asks why a heap grew
//
//   1. replays once and takes ReplayResult::growth: the greatest steps, or those
//      that made a new peak;
//   2. finds the event of each in the trace, which says what was asked for;
//   3. replays with PlanOptions::until_event = step.event - 1, and looks for a
//      hole that could have served it.
//
// A replay may take millions of steps. When more than the capacity are there,
// neighbours in time that are both small are joined, and what counts as small
// doubles; great steps stay alone, and the sum stays what it was. What comes out
// depends on the steps alone.

#ifndef HEAPTAPE_REPLAYER_DRIVER_GROWTH_LOG_H_
#define HEAPTAPE_REPLAYER_DRIVER_GROWTH_LOG_H_

#include <cstddef>
#include <cstdint>
#include <vector>

#include "replayer/plan/instruction.h"

namespace heaptape {

struct GrowthStep {
  enum class Kind : uint8_t {
    kBrk,
    kMmap,
    kMremap,
    kMprotect,
    kRegrown,  // an arena heap has grown into what it had given back, by no call
    kMixed,    // several, joined
  };
  static constexpr uint32_t kNoOrigin = ~uint32_t{0};

  uint64_t event = 0;         // whose call caused it; of kRegrown, at or after it
  uint64_t last_event = 0;    // the same, unless steps were joined
  uint64_t steps = 1;         // joined into this one
  uint64_t bytes = 0;         // by which system bytes rose, in sum
  uint64_t system_bytes = 0;  // after the last of them
  uint64_t address = 0;       // where the new bytes are, of the first; 0: not known
  uint32_t origin = kNoOrigin;  // the region they are in, if it is one: see Region
  Kind kind = Kind::kMixed;
  bool arena_heap = false;  // they are in a glibc arena other than the main one
  bool new_peak = false;    // system bytes were never as many before

  bool operator==(const GrowthStep&) const = default;
};

class GrowthLog {
 public:
  static constexpr size_t kDefaultCapacity = 8192;

  explicit GrowthLog(size_t capacity = kDefaultCapacity) : capacity_(capacity) {}

  // Takes note of every call, in order.
  void Add(const MemoryCall& call);

  // In order of events; at most the capacity.
  const std::vector<GrowthStep>& steps() const { return steps_; }

 private:
  void Append(GrowthStep step);
  void JoinSmall();

  const size_t capacity_;
  std::vector<GrowthStep> steps_;
  uint64_t system_bytes_ = 0;
  uint64_t peak_bytes_ = 0;
  uint64_t small_bytes_ = 8192;  // less than this is small
};

}  // namespace heaptape

#endif  // HEAPTAPE_REPLAYER_DRIVER_GROWTH_LOG_H_
