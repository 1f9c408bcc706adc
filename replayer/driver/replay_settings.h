// ReplaySettings: under what a trace is replayed.
//
// Mainland; plain values. What is to be replayed (until which event, say) is in
// PlanOptions; all that may differ between replays of one plan is here.

#ifndef HEAPTAPE_REPLAYER_DRIVER_REPLAY_SETTINGS_H_
#define HEAPTAPE_REPLAYER_DRIVER_REPLAY_SETTINGS_H_

#include <map>
#include <string>

#include "replayer/plan/instruction.h"

namespace heaptape {

// By full name: {"glibc.malloc.mmap_threshold", "65536"}. Numbers in any base
// that strtoull knows.
using TunableMap = std::map<std::string, std::string>;

struct ReplaySettings {
  // Over those that the recorded program ran with, which hold otherwise.
  TunableMap tunables;
  // "glibc", "jemalloc", "tcmalloc", "mimalloc", or the path of a shared object.
  std::string allocator = "glibc";
  // A directory with another glibc's ld.so and libc.so.6. Empty: the system's.
  std::string glibc_directory;
  // Whether blocks are written to, once a page, so that they become resident.
  Touch touch = Touch::kNone;
  // One real thread at a time instead of one that plays all.
  bool token_mode = false;
  // Let realloc copy and calloc clear even where nobody will read it.
  bool move_contents = false;
  // Have a signal deliver each memory system call, also where libc's call sites could
  // be rewritten: slower, and otherwise the same.
  bool keep_call_sites = false;
  // Behind the last event call malloc_trim(0), then let so much time pass, for
  // allocators that look at the clock.
  bool trim_at_end = false;
  uint64_t settle_ms = 0;
  // Replay twice, and fail unless both agree.
  bool check = false;

  bool operator==(const ReplaySettings&) const = default;
};

}  // namespace heaptape

#endif  // HEAPTAPE_REPLAYER_DRIVER_REPLAY_SETTINGS_H_
