#include "proto/event.h"

namespace heaptape {

const char* EventName(EventKind kind) {
  switch (kind) {
    case EventKind::kMalloc: return "malloc";
    case EventKind::kFree: return "free";
    case EventKind::kCalloc: return "calloc";
    case EventKind::kRealloc: return "realloc";
    case EventKind::kReallocBegin: return "realloc_begin";
    case EventKind::kReallocEnd: return "realloc_end";
    case EventKind::kMemalign: return "memalign";
    case EventKind::kAlignedAlloc: return "aligned_alloc";
    case EventKind::kPosixMemalign: return "posix_memalign";
    case EventKind::kValloc: return "valloc";
    case EventKind::kPvalloc: return "pvalloc";
    case EventKind::kThreadStart: return "thread_start";
    case EventKind::kThreadEnd: return "thread_end";
    case EventKind::kMallopt: return "mallopt";
    case EventKind::kMallocTrim: return "malloc_trim";
    case EventKind::kFork: return "fork";
  }
  return "unknown";
}

}  // namespace heaptape
