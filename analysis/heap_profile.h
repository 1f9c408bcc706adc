// HeapProfile: a heap in the format of pprof: live blocks, what they take, and the
// free bytes that they hold back.
//
// Mainland. Thread-safe. A trace has no stacks, so what stands for one is thread, call
// and size class, which pprof's graphs and filters then work on.

#ifndef HEAPTAPE_ANALYSIS_HEAP_PROFILE_H_
#define HEAPTAPE_ANALYSIS_HEAP_PROFILE_H_

#include <string>

#include "absl/status/statusor.h"
#include "analysis/heap_map.h"
#include "analysis/replay_heap.h"

namespace heaptape {

// A gzipped profile, to be written to a .pb.gz file. The same bytes for the same heap.
absl::StatusOr<std::string> HeapProfile(const ReplayHeap& heap, const std::string& comment);

}  // namespace heaptape

#endif  // HEAPTAPE_ANALYSIS_HEAP_PROFILE_H_
