// ResidentMeter: how many bytes of the allocator's regions are in memory.
//
// Island; the replaying thread only; never allocates, uses no TLS. Asks mincore,
// which costs 3 ns a page: for a heap of gigabytes, milliseconds, and there are
// two thousand samples. So samples are measured as long as a budget lasts that
// grows with the events replayed, up to the last of those expected; it depends on
// nothing else, so that two replays measure at the same samples. A sample that is
// not measured repeats the last figure.

#ifndef HEAPTAPE_REPLAYER_ENGINE_RESIDENT_METER_H_
#define HEAPTAPE_REPLAYER_ENGINE_RESIDENT_METER_H_

#include <stdint.h>

#include "replayer/engine/region_table.h"

namespace heaptape {

class ResidentMeter {
 public:
  // `expected_events` of the trace, or 0. Null, or what went wrong.
  const char* Init(const RegionTable* table, uint64_t expected_events);

  // Resident bytes after `event`, as of now if the budget allows.
  uint64_t Sample(uint64_t event);
  // As of now, whatever it costs.
  uint64_t Measure(uint64_t event);

  uint64_t peak_bytes() const { return peak_bytes_; }
  uint64_t peak_event() const { return peak_event_; }

 private:
  uint64_t Budget(uint64_t event) const;
  uint64_t Cost() const;
  uint64_t Count(uint64_t lo, uint64_t hi) const;

  const RegionTable* table_;
  unsigned char* vector_;
  uint64_t expected_events_;
  uint64_t spent_;
  uint64_t bytes_, peak_bytes_, peak_event_;
};

}  // namespace heaptape

#endif  // HEAPTAPE_REPLAYER_ENGINE_RESIDENT_METER_H_
