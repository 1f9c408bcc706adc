// SweepPoint: what one row of a sweep changes of the recorded settings; and the
// points that are tried unless told otherwise.
//
// Mainland. Thread-safe.

#ifndef HEAPTAPE_ANALYSIS_SWEEP_POINT_H_
#define HEAPTAPE_ANALYSIS_SWEEP_POINT_H_

#include <string>
#include <vector>

#include "replayer/driver/replay_settings.h"

namespace heaptape {

struct SweepPoint {
  TunableMap tunables;  // by full name, numbers in decimal
  std::string allocator = "glibc";
  bool trim_at_end = false;

  bool operator==(const SweepPoint&) const = default;
};

// "as recorded", "arena_max=1 mmap_threshold=64K", "jemalloc", "malloc_trim(0) at the
// end": short, and always the same for the same point.
std::string PointName(const SweepPoint& point);

// Each setting alone, at values that people choose; pairs of settings of which one
// alone may do nothing; malloc_trim(0) at the end; and `allocators`, each with its own
// defaults. Without the recorded settings themselves.
std::vector<SweepPoint> DefaultGrid(const std::vector<std::string>& allocators);

// trim_threshold at its own default: no value changes, but glibc's mmap threshold no
// longer moves. What tells a value from this freeze.
SweepPoint FreezeProbe();

}  // namespace heaptape

#endif  // HEAPTAPE_ANALYSIS_SWEEP_POINT_H_
