// Event: one line of a trace, as every mainland part sees it.
//
// An Event says what a program asked of its allocator and what it got. Events
// stand in one total order, counted from 1, in which no address is handed out
// while it is live. The struct is what the codec decodes into and the plan
// compiler reads; bytes on disk are in batch_codec.h and FORMAT.md.

#ifndef HEAPTAPE_PROTO_EVENT_H_
#define HEAPTAPE_PROTO_EVENT_H_

#include <cstdint>

namespace heaptape {

// The numbers are part of the file format: never renumber, only append.
enum class EventKind : uint8_t {
  kMalloc = 0,         // address = malloc(size)
  kFree = 1,           // free(address)
  kCalloc = 2,         // address = calloc(1, size); size is the product
  kRealloc = 3,        // address = realloc(old_address, size)
  kReallocBegin = 4,   // old_address goes into a realloc on this thread ...
  kReallocEnd = 5,     // ... and address comes out of it: others came between
  kMemalign = 6,       // address = memalign(alignment, size)
  kAlignedAlloc = 7,   // likewise
  kPosixMemalign = 8,  // likewise
  kValloc = 9,         // alignment is the page size
  kPvalloc = 10,       // likewise; size as asked for, not rounded
  kThreadStart = 11,   // thread makes its first call; size is its system tid
  kThreadEnd = 12,     // thread's own caches are about to be torn down
  kMallopt = 13,       // mallopt(int(size), int(old_address)) == address
  kMallocTrim = 14,    // malloc_trim(size) == address
  kFork = 15,          // thread forks; size is the number of the fork, from 1
};

inline constexpr int kEventKinds = 16;

// Of the memalign family: such an event has an alignment.
inline constexpr bool HasAlignment(EventKind kind) {
  return kind >= EventKind::kMemalign && kind <= EventKind::kPvalloc;
}

// Whether `address` is a block that comes out, or 0 where none did.
inline constexpr bool IsAllocation(EventKind kind) {
  return kind == EventKind::kMalloc || kind == EventKind::kCalloc || HasAlignment(kind) ||
         kind == EventKind::kRealloc || kind == EventKind::kReallocEnd;
}

// Readable name: the C function for calls ("malloc"), "thread_start" and the
// like for the rest. Never null; "unknown" outside the enumeration.
const char* EventName(EventKind kind);

struct Event {
  // Result of an allocation (0: it failed, or realloc to 0 bytes freed its
  // block), or the argument of a free. Always a multiple of 16 or 0 on glibc;
  // importers may bring other multiples, at least 4.
  uint64_t address = 0;
  // realloc: the block that went in (0: realloc(NULL, n)). See kMallopt.
  uint64_t old_address = 0;
  // Requested bytes; see the kinds that use it otherwise.
  uint64_t size = 0;
  // Dense number of the calling thread, from 0 in order of first call.
  uint32_t thread = 0;
  EventKind kind = EventKind::kMalloc;
  // memalign family: log2 of the alignment asked for. 0 elsewhere.
  uint8_t alignment_log2 = 0;

  bool operator==(const Event&) const = default;
};

static_assert(sizeof(Event) == 32, "a batch of events should stay in the second-level cache");

}  // namespace heaptape

#endif  // HEAPTAPE_PROTO_EVENT_H_
