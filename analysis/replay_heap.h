// ReplayHeap: the heap that a replay ended with, mapped.
//
// Mainland. Thread-safe.

#ifndef HEAPTAPE_ANALYSIS_REPLAY_HEAP_H_
#define HEAPTAPE_ANALYSIS_REPLAY_HEAP_H_

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "analysis/heap_map.h"
#include "analysis/holes.h"
#include "replayer/driver/replay_result.h"

namespace heaptape {

// What MapHeap was given and what it made of it. Block i is result.blocks[i].
struct ReplayHeap {
  std::vector<HeapBlock> blocks;
  std::vector<HeapRegion> regions;
  std::vector<OwnBlock> own_blocks;
  BlockLayout layout;
  HeapMap map;
};

// Internal if blocks or regions contradict each other, or the engine's own count
// of system bytes.
absl::StatusOr<ReplayHeap> MapReplay(const ReplayResult& result);

// The report on the holes of `result`'s heap, with details of the `details`
// largest. Errors are those of MapReplay.
absl::StatusOr<HolesReport> FindHoles(const ReplayResult& result, size_t details);

// The digest as every report shows it: sixteen hexadecimal digits.
std::string DigestText(uint64_t digest);

}  // namespace heaptape

#endif  // HEAPTAPE_ANALYSIS_REPLAY_HEAP_H_
