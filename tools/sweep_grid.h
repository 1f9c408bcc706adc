// ParseGrid: the settings that a sweep tries, as they stand on the command line.
//
// Mainland. Thread-safe; nothing is looked up: whether a tunable exists and an
// allocator is installed is asked elsewhere.

#ifndef HEAPTAPE_TOOLS_SWEEP_GRID_H_
#define HEAPTAPE_TOOLS_SWEEP_GRID_H_

#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "analysis/sweep_point.h"

namespace heaptape {

inline constexpr size_t kMostPoints = 10'000;

// The points that `spec` spells out: settings apart by spaces, each NAME=VALUES with
// VALUES a list of numbers and ranges apart by commas; every combination is a point.
//
//   mmap_threshold=64K,1M arena_max=1,2     four points
//   mmap_threshold=32K..4M*2                32K, 64K ... 4M
//   arena_max=1..8+1                        1, 2 ... 8
//   allocator=glibc,jemalloc trim=no,end    names; trim: malloc_trim(0) at the end
//   arena_max=default,1                     default: as recorded
//
// NAME is a tunable of glibc.malloc, or a full name. InvalidArgument, naming the
// part, for anything else, and for more than kMostPoints.
absl::StatusOr<std::vector<SweepPoint>> ParseGrid(absl::string_view spec);

}  // namespace heaptape

#endif  // HEAPTAPE_TOOLS_SWEEP_GRID_H_
