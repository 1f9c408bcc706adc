// LiveHeap: the blocks that are live after so many events of a trace.
//
// Mainland. One thread at a time. A forked child's trace begins with the blocks
// that its parent had; they are found by reading the parent's trace, and the
// next child's by reading on from there.

#ifndef HEAPTAPE_RECORDER_COLLECTOR_LIVE_HEAP_H_
#define HEAPTAPE_RECORDER_COLLECTOR_LIVE_HEAP_H_

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/status/statusor.h"
#include "proto/event.h"
#include "proto/trace_reader.h"

namespace heaptape {

class LiveHeap {
 public:
  explicit LiveHeap(std::string trace) : trace_(std::move(trace)) {}

  // Reads on until fork number `fork` (from 1; earlier ones than before are not
  // found again). False if it is not in the trace (yet).
  absl::StatusOr<bool> ReadToFork(uint64_t fork);

  // The live blocks as the allocations that would make them, in the order in
  // which they were made, and the thread that forked.
  std::vector<Event> Allocations() const;
  uint32_t forking_thread() const { return forking_thread_; }

 private:
  struct Block {
    uint64_t number;  // of the event that made it
    Event event;
  };

  void Apply(uint64_t number, const Event& event);

  const std::string trace_;
  absl::flat_hash_map<uint64_t, Block> blocks_;
  // Blocks inside a realloc, by thread.
  absl::flat_hash_map<uint32_t, std::vector<Block>> in_realloc_;
  uint64_t events_ = 0;  // applied
  // A place in the file to go on from, and the number of the event before it.
  uint64_t offset_ = 0;
  uint64_t event_before_ = 0;
  uint64_t fork_ = 0;    // the last one met
  uint32_t forking_thread_ = 0;
};

}  // namespace heaptape

#endif  // HEAPTAPE_RECORDER_COLLECTOR_LIVE_HEAP_H_
