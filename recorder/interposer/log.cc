#include "recorder/interposer/log.h"

#include "recorder/interposer/spools.h"
#include "recorder/interposer/thread_exit.h"
#include "recorder/raw/syscall.h"

namespace heaptape {

Gate* gate;
__thread ThreadLog thread_log __attribute__((tls_model("initial-exec")));

namespace {

using wire::Segment;

Segment* SegmentOf(uint64_t* word) {
  return reinterpret_cast<Segment*>(reinterpret_cast<uintptr_t>(word) & ~uintptr_t{wire::kSegmentBytes - 1});
}

uint32_t IndexOf(uint64_t* word) {
  return static_cast<uint32_t>(reinterpret_cast<uintptr_t>(word) % wire::kSegmentBytes / 8);
}

// Room for `words` when the segment has none; null if the call must be dropped.
uint64_t* ClaimSlow(wire::Control* control, uint64_t* claimed, uint64_t words);

uint64_t* Claim(wire::Control* control, uint64_t words) {
  uint64_t* const slot = MoveCursor(words);
  return IsInSegment(slot, words) ? slot : ClaimSlow(control, slot, words);
}

uint64_t* ClaimSlow(wire::Control* control, uint64_t* claimed, uint64_t words) {
  // What follows can take long, and handlers that come meanwhile must not push
  // the cursor any further. One that came already has set it anew.
  uint64_t* pushed = claimed + words;
  __atomic_compare_exchange_n(&thread_log.cursor, &pushed, nullptr, false, __ATOMIC_RELAXED, __ATOMIC_RELAXED);
  if (IndexOf(claimed) >= wire::kFirstWord) {
    Segment* const full = SegmentOf(claimed);
    uint64_t* const end = reinterpret_cast<uint64_t*>(full) + wire::kUsableWords;
    for (uint64_t* word = claimed; word < end; ++word) {
      __atomic_store_n(word, wire::LongWord(wire::Form::kPad, 0, 0), __ATOMIC_RELAXED);
    }
    FillSegment(full, wire::kUsableWords);
  }
  while (true) {
    uint64_t* seen = __atomic_load_n(&thread_log.cursor, __ATOMIC_RELAXED);
    // A signal handler may have taken a segment meanwhile.
    if (IsInSegment(seen, words)) return Claim(control, words);
    Segment* const segment = TakeSegment(control);
    if (segment == nullptr) {
      __atomic_store_n(&thread_log.cursor, nullptr, __ATOMIC_RELAXED);
      __atomic_fetch_add(&control->lost_calls, 1, __ATOMIC_RELAXED);
      return nullptr;
    }
    segment->thread = thread_log.thread;
    segment->system_tid = static_cast<uint32_t>(raw::ThreadId());
    segment->order = __atomic_fetch_add(&control->segment_order, 1, __ATOMIC_RELAXED);
    __atomic_store_n(&segment->words[0], wire::LongWord(wire::Form::kRun, 0, thread_log.run & wire::kTicketMask),
                     __ATOMIC_RELEASE);
    uint64_t* const slot = &segment->words[1];
    if (__atomic_compare_exchange_n(&thread_log.cursor, &seen, slot + words, false, __ATOMIC_RELAXED,
                                    __ATOMIC_RELAXED)) {
      return slot;
    }
    FillSegment(segment, wire::kFirstWord + 1);
  }
}

// Begins a run of this thread, which may be making its first call.
void BeginRun(wire::Control* control) {
  if (thread_log.thread == 0) {
    thread_log.thread = static_cast<uint32_t>(__atomic_add_fetch(&control->threads, 1, __ATOMIC_RELAXED));
    WatchThreadExit();
  }
  const uint64_t run = __atomic_add_fetch(&control->ticket, 1, __ATOMIC_SEQ_CST);
  // The run counts from here on; a signal handler that comes before the next
  // line begins one of its own, and ours is then the later in the log and the
  // earlier in number, which the merger allows.
  thread_log.run = run;
  if (thread_log.cursor == nullptr) return;  // a fresh segment names its run itself
  if (uint64_t* const slot = Claim(control, 1)) {
    __atomic_store_n(slot, wire::LongWord(wire::Form::kRun, 0, run & wire::kTicketMask), __ATOMIC_RELAXED);
  }
}

// The control block if the call is to be logged, with this thread's run open.
wire::Control* Recording(uint64_t word, uint64_t payload) {
  wire::Control* control = gate->control;
  if (control == nullptr) {
    if (gate->closed != 0) return nullptr;
    control = Detour(word, payload);
    if (control == nullptr) return nullptr;
  }
  if (__atomic_load_n(&control->ticket, __ATOMIC_RELAXED) != thread_log.run) BeginRun(control);
  return control;
}

}  // namespace

void LogSlow(uint64_t word) {
  if (wire::Control* const control = Recording(word, 0)) {
    if (uint64_t* const slot = Claim(control, 1)) __atomic_store_n(slot, word, __ATOMIC_RELAXED);
  }
}

void LogClaimed(uint64_t word, uint64_t* claimed) {
  wire::Control* const control = gate->control;
  if (control == nullptr) return;  // recording has just been stopped
  if (uint64_t* const slot = ClaimSlow(control, claimed, 1)) __atomic_store_n(slot, word, __ATOMIC_RELAXED);
}

void LogLong(uint64_t word, uint64_t payload) {
  if (wire::Control* const control = Recording(word, payload)) {
    if (uint64_t* const slot = Claim(control, 2)) {
      __atomic_store_n(slot + 1, payload, __ATOMIC_RELAXED);
      __atomic_store_n(slot, word, __ATOMIC_RELEASE);
    }
  }
}

void EndThread() {
  if (thread_log.thread == 0) return;
  Log(wire::LongWord(wire::Form::kThreadEnd, 0, 0));
  uint64_t* const cursor = thread_log.cursor;
  thread_log.cursor = nullptr;
  thread_log.thread = 0;
  thread_log.run = 0;
  if (cursor != nullptr && gate->closed == 0) FillSegment(SegmentOf(cursor), IndexOf(cursor));
}

}  // namespace heaptape
