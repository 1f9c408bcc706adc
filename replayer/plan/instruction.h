// Instruction: what the plan compiler tells the engine to do, and the layout
// of the mapping in which the two meet.
//
// Freestanding: the engine includes it beside an allocator under test. A plan
// is a sequence of 64-bit words. The driver (mainland) writes them into a ring,
// the engine (island) reads them. They share two memory files, which the engine
// finds as the descriptors that its command line names, "heaptape-engine 3 4":
//
//   the first, one an engine:
//   offset 0            SharedHeader    settings in, results out
//   kOwnBlocksOffset    Slot[kOwnBlockCapacity]   address-ordered
//   kSamplesOffset      Sample[kSampleCapacity]
//   kRegionsOffset      Region[kRegionCapacity]   address-ordered
//   kMemoryCallsOffset  MemoryCall[kMemoryCallCapacity]   a ring, engine to driver
//   kSlotsOffset        Slot[kSlotCapacity]       sparse; grows with live blocks
//
//   the second:         uint64_t[ring_words]      the plan, or a window of it
//
// The ring is a file of its own so that a plan that fits is compiled once and
// read by any number of engines, one after another or side by side.
//
// The engine never sees a recorded address: blocks are slots, threads are lanes.

#ifndef HEAPTAPE_REPLAYER_PLAN_INSTRUCTION_H_
#define HEAPTAPE_REPLAYER_PLAN_INSTRUCTION_H_

#include <stdint.h>

namespace heaptape {

// ---------------------------------------------------------------------------
// Instruction words
//
//    63            32 31             5  4   3     0
//   +----------------+----------------+----+-------+
//   |      size      |      slot      |wide|  op   |
//   +----------------+----------------+----+-------+
//
// If `wide` is set, `size` is in the next word instead (all 64 bits) and the
// upper half of this one is 0. kMemalign keeps log2(alignment) in the upper half
// and is always wide. Each op below says whether it stands for an event; the
// engine counts those to name the event that caused a system call.

enum class Op : uint8_t {
  kEnd = 0,       // no event. Trim and let time pass if the header says so, stop, measure, write
                  // the results.
  kMalloc = 1,    // event. slot was empty.
  kCalloc = 2,    // event. slot was empty.
  kRealloc = 3,   // event. slot holds a block; it keeps the slot.
  kFree = 4,      // event. slot becomes empty; size unused.
  kMemalign = 5,  // event. slot was empty.
  kLane = 6,      // no event. Later calls are made by lane `slot`; creates it.
  kLaneEnd = 7,   // event. Lane `slot` ends; it is current and never used again.
  kSample = 8,    // no event. Write sample number `slot`.
  kHalve = 9,     // no event. Keep samples 0, 2, 4 ... as 0, 1, 2 ...
  kSkip = 10,     // `size` events that ask nothing of the allocator.
  kSlots = 11,    // no event. Slots below `size` may be used from here on: whole pages.
  kMallopt = 12,  // event, wide: low half of size is the parameter, high half the value.
  kTrim = 13,     // event if slot is 0, none if it is 1 (asked for by the user). malloc_trim(size)
  kDrop = 14,     // no event. kFree of a block whose free the recording lacks.
};

inline constexpr int kOps = 15;

inline constexpr uint64_t kWideBit = 1 << 4;
inline constexpr int kSlotShift = 5;
inline constexpr int kSizeShift = 32;
inline constexpr uint64_t kSlotMask = (uint64_t{1} << 27) - 1;
inline constexpr uint64_t kMaxNarrowSize = (uint64_t{1} << 32) - 1;
inline constexpr uint64_t kSlotCapacity = uint64_t{1} << 27;
inline constexpr uint64_t kLaneCapacity = uint64_t{1} << 20;

constexpr uint64_t Encode(Op op, uint64_t slot, uint64_t size) {
  return static_cast<uint64_t>(op) | slot << kSlotShift | size << kSizeShift;
}
constexpr Op OpOf(uint64_t word) { return static_cast<Op>(word & 15); }
constexpr bool IsWide(uint64_t word) { return (word & kWideBit) != 0; }
constexpr bool HasRecordedAddress(Op op) {
  return ((1u << static_cast<int>(Op::kMalloc) | 1u << static_cast<int>(Op::kCalloc) |
           1u << static_cast<int>(Op::kRealloc) | 1u << static_cast<int>(Op::kMemalign)) >>
              static_cast<int>(op) &
          1) != 0;
}
constexpr uint64_t SlotOf(uint64_t word) { return word >> kSlotShift & kSlotMask; }
constexpr uint64_t SizeOf(uint64_t word) { return word >> kSizeShift; }

// ---------------------------------------------------------------------------
// The shared mapping

inline constexpr uint32_t kSharedVersion = 3;

// One live block, or {0, 0}. Written by the engine alone.
struct Slot {
  uint64_t address;
  uint64_t usable_bytes;
};

// A piece of address space that the allocator holds: what one brk or mmap gave
// it, less what it has returned, split where protection differs. Ordered by lo.
struct Region {
  uint64_t lo;
  uint64_t hi;
  uint64_t birth_event;  // event whose call mapped it
  uint32_t origin;       // number of the mmap that made it; 0 is the brk heap
  uint32_t writable;     // 1 if the allocator may use it: readable and writable, and for a
                         // glibc arena heap below the heap's own size
};

struct Sample {
  uint64_t event;  // events done when it was taken
  uint64_t usable_bytes;
  uint64_t system_bytes;
  uint64_t resident_bytes;  // when last measured: see resident_meter.h
};

struct SyscallCounts {
  uint64_t brk, mmap, munmap, mremap, mprotect, madvise;
};
constexpr uint64_t Total(const SyscallCounts& calls) {
  return calls.brk + calls.mmap + calls.munmap + calls.mremap + calls.mprotect + calls.madvise;
}

// One memory system call of the allocator, in the order they were made.
struct MemoryCall {
  enum Kind : uint16_t { kBrk, kMmap, kMunmap, kMremap, kMprotect, kMadvise };
  enum Flags : uint16_t {
    kFailed = 1,
    kArenaHeap = 2,  // part of a region that was first mapped without access: glibc's arena heaps
  };

  uint64_t event;         // whose call caused it; 0: before the first
  uint64_t address;       // what it is about: the result of mmap and mremap, the new end of brk
  uint64_t bytes;         // length asked for; of brk, by how much the end moved, either way
  uint64_t old_address;   // mremap only
  uint64_t bytes_before;  // system bytes when it was made. More than bytes_after of the call
                          // before: an arena heap has grown into what it had given back.
  uint64_t bytes_after;
  uint64_t reserved;
  uint32_t origin;  // number of the region at `address`, as in Region; ~0: none
  uint16_t kind;
  uint16_t flags;
};

// How far a replay puts blocks where the recording had them. Counted over all
// calls that made or moved a block; agreement is defined in engine/placement.h.
struct PlacementCounts {
  uint64_t compared;
  uint64_t equal;
  // The first that differs. 0: none.
  uint64_t first_event;
  uint64_t first_recorded;  // address
  uint64_t first_replayed;  // where the recorded one should be, from the blocks before it
};

// Settings whose effect the engine can try out: see engine/setting_probe.h.
enum ProbedSetting : uint32_t {
  kProbeMmapThreshold,
  kProbeTrimThreshold,
  kProbeTopPad,
  kProbeMmapMax,
  kProbeArenaMax,
  kProbeTcacheCount,
  kProbeTcacheMax,
  kProbeMxfast,
  kProbePerturb,
};
inline constexpr uint32_t kProbedSettings = 9;

enum class ProbeResult : uint32_t { kNotProbed = 0, kInForce = 1, kIgnored = 2 };

struct ProbeSlot {
  uint64_t value;  // in the environment, by the driver
  uint32_t is_set;
  ProbeResult result;
};

enum class Touch : uint32_t { kNone = 0, kPages = 1 };

enum class EngineState : uint32_t {
  kStarting = 0,
  kRunning = 1,
  kDone = 2,     // reached kEnd
  kStopped = 3,  // told to stop; results describe the events done so far
  kFailed = 4,   // see failure
};

struct SharedHeader {
  // Written by the driver before the engine starts.
  uint32_t version;
  Touch touch;
  uint64_t ring_words;  // capacity of the ring, a power of two
  uint32_t token_mode;  // 1: real threads take turns; no FS-base switching
  uint32_t placement;   // 1: the plan has recorded addresses
  uint32_t move_contents;  // 1: realloc copies and calloc clears though nobody reads it
  uint32_t probe_only;     // 1: answer `probes`, and do not replay
  uint32_t trim_at_end;    // 1: malloc_trim(0) behind the last event
  uint32_t keep_call_sites;  // 1: engine/call_sites.h is not used
  uint64_t settle_ms;      // then let so much time pass (engine/settling.h)
  uint64_t expected_events;  // of the plan; 0: it is not known, and not to be trusted
  uint32_t overcommit;     // what /proc/sys/vm/overcommit_memory said where it was recorded
  ProbeSlot probes[kProbedSettings];

  // The ring. `committed` is advanced by the driver (release), matched by the
  // engine's acquire; `consumed` the other way round. Both count words since
  // the start and never wrap. Each side bumps and wakes the futex of the other.
  alignas(64) uint64_t committed;
  uint32_t committed_futex;
  uint32_t stop;  // driver sets 1: end at the next instruction
  alignas(64) uint64_t consumed;
  uint32_t consumed_futex;
  uint32_t reserved1;

  // The ring of memory calls: how many have been written (engine, release) and
  // read (driver, release), modulo 2^32. The engine waits while it is full.
  alignas(64) uint32_t calls_written;
  alignas(64) uint32_t calls_read;

  // Written by the engine.
  alignas(64) EngineState state;
  uint32_t aslr_disabled;
  uint32_t syscalls_seen;  // 1: by user dispatch; 0: the kernel lacks it, regions come from
                           // /proc/self/maps at the end
  uint32_t lanes_by_fs_base;
  char failure[128];  // one line, when state is kFailed
  char glibc_version[32];
  char allocator[256];  // the object that serves the calls, as the loader found it
  uint32_t allocator_is_glibc;
  uint32_t contents_left_out;  // 1: see engine/contents.h
  uint32_t rewritten_call_sites;  // see engine/call_sites.h

  uint64_t events_done;
  uint64_t digest;
  uint64_t live_blocks;
  uint64_t slot_count;  // may have been used
  uint64_t usable_bytes, peak_usable_bytes, peak_usable_event;
  uint64_t system_bytes, peak_system_bytes, peak_system_event;
  uint64_t resident_bytes, peak_resident_bytes, peak_resident_event;
  SyscallCounts syscalls;
  uint64_t minor_faults;   // of the allocator and of touching, not the engine's own
  uint64_t peak_mappings;  // mappings the allocator held at once, as the kernel counts
  uint64_t failed_calls;   // allocations that returned null here, not in the recording
  uint64_t replay_ns;      // in instructions: waits for the plan and samples excluded
  uint64_t wait_ns;        // spent waiting for the plan
  uint64_t sample_ns;      // spent taking samples
  uint64_t lanes;          // made in all, the first included
  uint32_t sample_count;
  uint32_t region_count;

  // glibc only, 0 elsewhere: mallinfo2 at the end, and what fixes its layout.
  uint64_t mallinfo_arena, mallinfo_hblkhd, mallinfo_uordblks, mallinfo_fordblks;
  // The same arena + hblkhd before the first instruction: 0, or the engine itself allocated.
  uint64_t initial_heap_bytes;
  uint64_t own_allocations;  // blocks the engine's own arena handed out during the plan
  uint64_t heap_start;       // where the brk heap begins (and began, if it is empty)
  PlacementCounts placement_counts;
  // Before time passed at the end; 0 if none did.
  uint64_t unsettled_system_bytes, unsettled_resident_bytes;

  // Blocks inside the regions that the allocator keeps for itself and that the
  // engine could identify (glibc: tcache structs of live lanes, arena heads),
  // ordered by address: part of overhead, never of a hole.
  uint32_t own_block_count;
  uint32_t reserved2;

  // Freed blocks, with their headers, that living lanes' tcache structs count.
  uint64_t thread_cache_bytes;
};

inline constexpr uint64_t kOwnBlocksOffset = 64 << 10;
inline constexpr uint64_t kOwnBlockCapacity = 16 << 10;  // Slot each
inline constexpr uint64_t kSampleCapacity = 2048;
inline constexpr uint64_t kSamplesOffset = kOwnBlocksOffset + kOwnBlockCapacity * sizeof(Slot);
inline constexpr uint64_t kRegionCapacity = 256 << 10;
inline constexpr uint64_t kRegionsOffset = kSamplesOffset + kSampleCapacity * sizeof(Sample);
inline constexpr uint64_t kMemoryCallCapacity = 16 << 10;  // a power of two
inline constexpr uint64_t kMemoryCallsOffset = kRegionsOffset + kRegionCapacity * sizeof(Region);
inline constexpr uint64_t kSlotsOffset =
    kMemoryCallsOffset + kMemoryCallCapacity * sizeof(MemoryCall);
inline constexpr uint64_t kSharedBytes = kSlotsOffset + kSlotCapacity * sizeof(Slot);

inline constexpr uint64_t kSlotsAPage = 4096 / sizeof(Slot);

static_assert(sizeof(Slot) == 16 && sizeof(Region) == 32 && sizeof(Sample) == 32);
static_assert(sizeof(MemoryCall) == 64);
static_assert(sizeof(SharedHeader) <= kOwnBlocksOffset);
static_assert(kSamplesOffset % 4096 == 0 && kRegionsOffset % 4096 == 0 && kSlotsOffset % 4096 == 0);

}  // namespace heaptape

#endif  // HEAPTAPE_REPLAYER_PLAN_INSTRUCTION_H_
