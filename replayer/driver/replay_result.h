// ReplayResult: all that a replay has found out, as plain values.
//
// Mainland. Terms are those of DESIGN.md; bytes are bytes; events count from 1,
// and 0 means before the first.

#ifndef HEAPTAPE_REPLAYER_DRIVER_REPLAY_RESULT_H_
#define HEAPTAPE_REPLAYER_DRIVER_REPLAY_RESULT_H_

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "proto/event.h"
#include "proto/trace.pb.h"
#include "proto/trace_reader.h"
#include "replayer/driver/growth_log.h"
#include "replayer/driver/replay_settings.h"
#include "replayer/plan/instruction.h"
#include "replayer/plan/plan_compiler.h"

namespace heaptape {

struct Peak {
  uint64_t bytes = 0;
  uint64_t event = 0;  // after which it was first reached

  bool operator==(const Peak&) const = default;
};

// A block that is live at the end: where the replay put it, what the trace says.
struct LiveBlock {
  uint64_t address = 0;
  uint64_t usable_bytes = 0;
  uint64_t requested_bytes = 0;
  uint64_t event = 0;  // that gave it its present size; 0: not known, the replay was stopped
  uint64_t recorded_address = 0;
  uint32_t thread = 0;
  EventKind kind = EventKind::kMalloc;  // of that event
  uint8_t alignment_log2 = 0;
  uint32_t slot = 0;  // its number in the plan

  bool operator==(const LiveBlock&) const = default;
};

struct TimelinePoint {
  uint64_t event = 0;
  uint64_t requested_bytes = 0;
  uint64_t usable_bytes = 0;
  uint64_t system_bytes = 0;
  uint64_t resident_bytes = 0;  // when last measured: see resident_meter.h

  bool operator==(const TimelinePoint&) const = default;
};

// The settings as the engine got them.
struct SettingsInForce {
  TunableMap tunables;       // the recorded ones, the user's over them; values in decimal
  uint64_t arena_limit = 0;  // set because neither says: that of the recorded machine; 0: not set
  std::vector<std::string> environment;  // of the engine, NAME=VALUE, all of it
  std::string allocator;                 // as asked for
  std::string allocator_path;            // the object that served the calls
  bool is_glibc = false;                 // and it is glibc's
  std::string glibc_version;
  Touch touch = Touch::kNone;
  bool aslr_disabled = false;
  bool lanes_by_fs_base = false;
  bool contents_left_out = false;  // realloc did not copy, calloc did not clear large blocks
  uint64_t rewritten_call_sites = 0;  // of memory system calls, in libc
  bool syscalls_seen = false;  // if not: no counts, regions and system bytes as of the end only
  // One line each, of what the user should know: a recorded tunable that this
  // glibc lacks, another glibc version, ...
  std::vector<std::string> notes;
};

struct ReplayResult {
  Header header;       // of the trace
  TraceHealth health;  // final, if the replay reached the end of the trace
  PlanTotals plan;     // requested bytes and their peak, orphans, contradictions, ...
  SettingsInForce settings;

  bool stopped = false;  // by the progress callback or SIGTERM: figures are as of events_done
  uint64_t events_done = 0;
  uint64_t digest = 0;
  uint64_t failed_calls = 0;  // allocations that failed here, not in the recording
  uint64_t lanes = 0;

  // At the end.
  uint64_t live_blocks = 0;
  uint64_t requested_bytes = 0;
  uint64_t usable_bytes = 0;
  uint64_t system_bytes = 0;
  uint64_t resident_bytes = 0;
  // Each its own maximum. Requested, usable and system are exact; resident is
  // the largest of the timeline and the end.
  Peak peak_requested, peak_usable, peak_system, peak_resident;

  SyscallCounts syscalls = {};
  uint64_t minor_faults = 0;
  uint64_t peak_mappings = 0;
  // glibc's own account: arena + hblkhd equals system_bytes. 0 elsewhere.
  uint64_t mallinfo_arena = 0, mallinfo_hblkhd = 0, mallinfo_uordblks = 0, mallinfo_fordblks = 0;
  // Proof that the engine itself is not in the heap: both 0.
  uint64_t initial_heap_bytes = 0, engine_allocations = 0;
  uint64_t heap_start = 0;
  // Of freed blocks in thread caches, where glibc's headers show them; parts of holes.
  uint64_t thread_cache_bytes = 0;

  double allocator_seconds = 0;  // in instructions
  double wait_seconds = 0;       // the engine waited for the plan
  double sample_seconds = 0;     // it took samples
  double replay_seconds = 0;     // from start to end, all told

  // Set if PlanOptions::placement asked for it: how far blocks lie where the
  // recording had them.
  std::optional<PlacementCounts> placement;

  // Set if ReplaySettings::settle_ms asked for it: what system_bytes and resident_bytes
  // were before that time passed.
  struct Unsettled {
    uint64_t system_bytes = 0;
    uint64_t resident_bytes = 0;
  };
  std::optional<Unsettled> unsettled;

  std::vector<TimelinePoint> timeline;
  std::vector<GrowthStep> growth;  // empty unless settings.syscalls_seen
  std::vector<Region> regions;    // by address
  std::vector<LiveBlock> blocks;  // by address
  std::vector<Slot> own_blocks;   // by address: the allocator's own, part of overhead
};

}  // namespace heaptape

#endif  // HEAPTAPE_REPLAYER_DRIVER_REPLAY_RESULT_H_
