// Engine: everything the engine knows, in one place without constructors.
//
// Island. There is one, made by main.cc; the thread that replays owns it. Its
// parts never allocate.

#ifndef HEAPTAPE_REPLAYER_ENGINE_ENGINE_H_
#define HEAPTAPE_REPLAYER_ENGINE_ENGINE_H_

#include <stdint.h>

#include "replayer/engine/allocator.h"
#include "replayer/engine/lanes.h"
#include "replayer/engine/memory_call_ring.h"
#include "replayer/engine/placement.h"
#include "replayer/engine/plan_ring.h"
#include "replayer/engine/region_cache.h"
#include "replayer/engine/resident_meter.h"
#include "replayer/engine/system_call_log.h"
#include "replayer/plan/instruction.h"

namespace heaptape {

// Figures that the executor keeps.
struct Progress {
  uint64_t events;  // begun; read by the system call log at any time
  uint64_t digest;
  uint64_t usable_bytes;
  uint64_t peak_usable_bytes, peak_usable_event;
  uint64_t failed_calls;
  uint64_t sample_ns;
  uint32_t sample_count;
};

struct Engine {
  SharedHeader* shared;
  Slot* own_blocks;
  Sample* samples;
  Region* regions;
  Slot* slots;

  PlanRing ring;
  // Words not yet executed, while the executor is not in its loop.
  const uint64_t* at;
  const uint64_t* end;
  int shared_fd;        // what is shared, for more of its slots
  uint64_t slot_count;  // slots below this are mapped and may be used
  uint32_t lane;        // current
  bool lanes_by_fs_base;

  Allocator allocator;
  SystemCallLog* system_calls;
  MemoryCallRing call_ring;
  RegionCache region_cache;
  Placement placement;
  ResidentMeter resident;
  Lanes lanes;
  Progress progress;

  volatile int stop;    // set by SIGTERM
  const char* failure;  // null: none
  bool touch;
  bool compare_placement;  // the plan has recorded addresses
  bool watching;
};

}  // namespace heaptape

#endif  // HEAPTAPE_REPLAYER_ENGINE_ENGINE_H_
