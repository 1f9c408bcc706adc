// PlanBlock: what a trace says of a live block.
//
// Mainland; plain values.

#ifndef HEAPTAPE_REPLAYER_PLAN_PLAN_BLOCK_H_
#define HEAPTAPE_REPLAYER_PLAN_PLAN_BLOCK_H_

#include <cstdint>
#include <vector>

#include "proto/event.h"
#include "replayer/plan/huge_pages.h"

namespace heaptape {

struct PlanBlock {
  uint64_t recorded_address = 0;
  // The event that gave the block its present size and place: its allocation or
  // the last realloc. 0: the slot is empty.
  uint64_t event = 0;
  uint64_t requested_bytes = 0;
  uint32_t thread = 0;
  EventKind kind = EventKind::kMalloc;
  uint8_t alignment_log2 = 0;
};

static_assert(sizeof(PlanBlock) == 32, "two to a cache line");

using PlanBlocks = std::vector<PlanBlock, HugePageAllocator<PlanBlock>>;  // by slot

}  // namespace heaptape

#endif  // HEAPTAPE_REPLAYER_PLAN_PLAN_BLOCK_H_
