// Logging a call: the hot path.
//
// Island. No system call, no lock, no allocation; 24 bytes of initial-exec TLS.
// Safe in signal handlers, which may interrupt it at any instruction, and may
// never return to it.
//
// Order. One shared word, Control::ticket, numbers runs of calls. A thread whose
// run it names logs without a stamp. Another one adds 1, which begins a run of
// its own, and logs that number first. The word is looked at after an allocation
// has returned and before a free is forwarded. So whoever is handed an address
// that another thread freed looks at the word later than that thread did, and
// its run is later or it is the same run; sorting by run gives an order in which
// no address is handed out while it is live. (Invented for this program; the
// collector's half is in collector/merger.h.)
//
// Space. A slot is claimed by one unlocked exchange-and-add on the thread's own
// cursor, atomic as far as a signal on this thread can tell, and then filled by
// one store. A handler that comes between claims the slots behind.
//
// Fork. The word through which the session is found lies on a page that the
// kernel empties in a forked child. So a child can never write into its parent's
// segments, however it was forked; a vfork child, which does run in its parent's
// heap, keeps writing as its parent, which is right.

#ifndef HEAPTAPE_RECORDER_INTERPOSER_LOG_H_
#define HEAPTAPE_RECORDER_INTERPOSER_LOG_H_

#include <stdint.h>

#include "recorder/wire/call.h"
#include "recorder/wire/session.h"

namespace heaptape {

// On the page that forked children find empty.
struct Gate {
  wire::Control* control;  // null: every call goes through Detour
  uint32_t closed;         // 1: nothing is recorded, and never will be
  uint32_t own;            // 0: the page was emptied, this is a forked child
};

struct ThreadLog {
  uint64_t run;       // ticket of this thread's last run
  uint64_t* cursor;   // next free word of its segment; null: it has none
  uint32_t thread;    // its number, from 1; 0: it has made no call yet
  uint32_t flags;
};

extern Gate* gate;
extern __thread ThreadLog thread_log __attribute__((tls_model("initial-exec")));

// Where there is no control block: a forked child joins the session anew, a
// recording with a trap counts and compares. Null: the call is not recorded.
wire::Control* Detour(uint64_t word, uint64_t payload);

// Logs a call of one word, in any circumstances. Out of line, so that the hot
// path keeps nothing across a call.
void LogSlow(uint64_t word);
// The same, when `claimed` turned out to lie outside of this thread's segment.
void LogClaimed(uint64_t word, uint64_t* claimed);
// Logs a call of two words.
void LogLong(uint64_t word, uint64_t payload);
// Logs that this thread ends, and lets its segment go. Should it call again, it
// counts as another thread.
void EndThread();

// Whether `words` words may be stored from `slot` on. Below the first word there
// is no segment; a slot may also have been pushed beyond the end of one.
inline bool IsInSegment(const uint64_t* slot, uint64_t words) {
  const uint64_t offset = reinterpret_cast<uint64_t>(slot) % wire::kSegmentBytes;
  return offset - wire::kFirstWord * 8 <= (wire::kUsableWords - wire::kFirstWord - words) * 8;
}

// Moves the cursor on, and returns where it was.
inline uint64_t* MoveCursor(uint64_t words) {
  uint64_t* slot = reinterpret_cast<uint64_t*>(words * 8);
  // No lock prefix: only this thread's own signal handlers compete.
  asm volatile("xaddq %0, %1" : "+r"(slot), "+m"(thread_log.cursor) : : "memory", "cc");
  return slot;
}

inline void Log(uint64_t word) {
  const wire::Control* const control = gate->control;
  if (__builtin_expect(control == nullptr, 0) ||
      __builtin_expect(__atomic_load_n(&control->ticket, __ATOMIC_RELAXED) != thread_log.run, 0)) {
    LogSlow(word);
    return;
  }
  uint64_t* const slot = MoveCursor(1);
  if (__builtin_expect(!IsInSegment(slot, 1), 0)) {
    LogClaimed(word, slot);
    return;
  }
  // A line that is soon to be written: the collector has it, or nobody. A hint
  // that older processors pass over.
  asm volatile("prefetchw 512(%0)" : : "r"(slot));
  __atomic_store_n(slot, word, __ATOMIC_RELAXED);
}

}  // namespace heaptape

#endif  // HEAPTAPE_RECORDER_INTERPOSER_LOG_H_
