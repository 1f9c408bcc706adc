// The files in which a recorded program and a collector meet.
//
// Freestanding; both sides include it and are always of the same build.
//
//   SESSION/                        0700; named by HEAPTAPE_SESSION
//     config                        SessionConfig, if the collector left one
//     PID.STARTTIME.N/              one program image; N counts its execs
//       control                     Control
//       spool.0, spool.1, ...       Spool: a header, then segments; the program's, or the
//                                   collector's, which makes the next one ahead
//       cmdline, environ, maps ...  copies from /proc/self at the start
//       trace                       the collector's: path of the trace it writes
//       making                      the collector's: a spool that is not whole yet
//
// A spool is mapped by the program and by the collector:
//
//   0          64K         128K
//   +----------+-----------+-----------+---
//   | Spool    | segment 0 | segment 1 | ...    1 MiB the first eight, 4 MiB later
//   +----------+-----------+-----------+---
//
// A segment is filled by one thread at a time, from the front, and goes round:
//
//    kFree --thread--> kTaken --thread--> kFull --collector--> kFree (zeroed)
//                                               --collector--> kKept, if need be
//
// Guarantees: a word, once not zero, does not change until its segment is free
// again. A word can be seen only if everything the thread did before is visible
// too (x86 stores are seen in order). A zero in front of other words is an entry
// that a signal handler overtook: it may be written later, or never.
//
// The files are the program's: a collector trusts no value in them, since the
// program may be broken or hostile. It copies, then checks.

#ifndef HEAPTAPE_RECORDER_WIRE_SESSION_H_
#define HEAPTAPE_RECORDER_WIRE_SESSION_H_

#include <stddef.h>
#include <stdint.h>

namespace heaptape::wire {

inline constexpr uint64_t kControlMagic = 0x3170'6174'7061'6568;  // "heaptap1"
inline constexpr char kSessionVariable[] = "HEAPTAPE_SESSION";

inline constexpr uint32_t kSegmentBytes = 64 << 10;
inline constexpr uint32_t kSegmentWords = kSegmentBytes / 8;
// The last words of a segment are never used: a thread that has reached the end
// and is interrupted before it has moved on may be pushed a few further.
inline constexpr uint32_t kSlackWords = 64;
inline constexpr uint32_t kUsableWords = kSegmentWords - kSlackWords;

inline constexpr uint32_t kSmallSpools = 8;
inline constexpr uint32_t kMaxSpools = 4096;
constexpr uint64_t SpoolBytes(uint32_t spool) { return uint64_t{1} << (spool < kSmallSpools ? 20 : 22); }
constexpr uint32_t SpoolSegments(uint32_t spool) {
  return static_cast<uint32_t>(SpoolBytes(spool) / kSegmentBytes) - 1;
}
inline constexpr uint32_t kMaxSpoolSegments = (4 << 20) / kSegmentBytes - 1;

enum class SegmentState : uint32_t {
  kFree = 0,
  kTaken = 1,
  kFull = 2,
  // Drained but for an entry that was overtaken and may still be written. Nobody
  // may have the segment until it is, which may be never, and nobody waits for it.
  kKept = 3,
};

enum class OnFull : uint32_t {
  kWait = 0,  // for the collector, as long as one is alive
  kDrop = 1,  // and count
};
enum class Follow : uint32_t { kAll = 0, kNone = 1 };

// A call at which the program is stopped with SIGTRAP, for its debugger.
enum class TrapAt : uint32_t {
  kNever = 0,
  kEvent = 1,  // trap_value: number of the event
  kSize = 2,   // trap_value: requested bytes; trap_form: which function, as a Form
};

struct SessionConfig {
  uint64_t buffer_bytes = 32 << 20;        // of spools, while a collector is alive
  uint64_t max_bytes = uint64_t{4} << 30;  // of spools, when none is
  OnFull on_full = OnFull::kWait;
  Follow follow = Follow::kAll;
  TrapAt trap_at = TrapAt::kNever;
  uint32_t trap_form = 0;
  uint64_t collector_expected = 0;  // 1 where a collector made the session
  uint64_t trap_value = 0;
};

struct Segment {
  // Written by the thread that takes it, before `state` says so.
  uint32_t thread;      // its number in this program, from 1
  uint32_t system_tid;
  uint64_t order;       // of taking, over all segments: a thread's segments in order
  // Where its SegmentControl is; written once, with the spool.
  uint32_t spool;
  uint32_t index;
  uint64_t reserved[5];
  uint64_t words[kSegmentWords - 8];
};
static_assert(sizeof(Segment) == kSegmentBytes);
inline constexpr uint32_t kFirstWord = offsetof(Segment, words) / 8;

struct SegmentControl {
  uint32_t state;       // SegmentState; changed by compare-and-swap
  uint32_t generation;  // counts recyclings
  uint32_t limit;       // with kFull: no word from here on (index from the segment's start)
  uint32_t thread;      // who has it, while kTaken
};

struct Spool {
  SegmentControl segments[kMaxSpoolSegments];
};
static_assert(sizeof(Spool) <= kSegmentBytes);

enum class RecordingState : uint32_t {
  kStarting = 0,
  kRecording = 1,
  kStopped = 2,  // for good: see stop_reason
};

enum class StopReason : uint32_t { kNone = 0, kNoSpace = 1, kMaxSize = 2 };

struct Control {
  uint64_t magic;  // written last
  int32_t pid;
  uint32_t recording_state;  // RecordingState
  uint64_t start_time_ticks;
  uint64_t start_wall_ns;
  uint32_t stop_reason;  // StopReason
  uint32_t spool_count;  // spools that may be looked at
  char glibc_version[32];
  char allocator[256];  // path of the object that serves malloc; empty: libc

  // If this image came from a fork without exec: its parent's directory name in
  // the session, and which fork it was; 0 if that is not known (a fork past libc).
  char parent[64];
  uint64_t parent_fork;

  uint64_t threads;       // numbers given out
  uint64_t lost_calls;    // that could not be logged
  uint64_t segment_order; // see Segment::order
  uint64_t waits;         // times a thread had to wait for the collector

  // Grows while a collector is alive; the program never looks at its pid.
  uint64_t heartbeat;
  // The collector's: events that it could not write. The trace ends before the first of
  // them, whichever collector goes on.
  uint64_t dropped_events;

  // The number of the newest run, alone on its line: every call reads it. A
  // thread whose own run it names may log without a stamp; another one first
  // adds 1, by which a new run of its own begins.
  alignas(64) uint64_t ticket;
  uint64_t padding[7];
};
static_assert(sizeof(Control) <= 4096);
inline constexpr uint64_t kControlBytes = 4096;

}  // namespace heaptape::wire

#endif  // HEAPTAPE_RECORDER_WIRE_SESSION_H_
