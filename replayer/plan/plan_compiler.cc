#include "replayer/plan/plan_compiler.h"

#include <algorithm>

namespace heaptape {

namespace {

constexpr uint32_t kNone = AddressTable::kNone;

// How far ahead of its use an address's table entry is asked for, and then the block
// that it names: about as many events as a cache miss takes.
constexpr size_t kTableAhead = 20;
constexpr size_t kBlockAhead = 10;

// The engine makes this many slots ready at a time: 64 KiB of its table.
constexpr uint64_t kSlotStep = 4096;
static_assert(kSlotStep % kSlotsAPage == 0);

}  // namespace

bool PlanCompiler::Add(uint64_t first_event, absl::Span<const Event> events,
                       std::vector<uint64_t>* words) {
  const size_t words_before = words->size();
  const bool wants_more = AddAll(first_event, events, words);
  totals_.words += words->size() - words_before;
  return wants_more;
}

bool PlanCompiler::AddAll(uint64_t first_event, absl::Span<const Event> events,
                          std::vector<uint64_t>* words) {
  words_ = words;
  const uint64_t last_wanted = options_.until_event == 0 ? ~uint64_t{0} : options_.until_event;
  if (first_event > totals_.events + 1) {
    const uint64_t missing = std::min(first_event - 1, last_wanted) - totals_.events;
    totals_.missing_events += missing;
    totals_.events += missing;
    skipped_ += missing;
  }
  for (size_t i = 0; i < events.size(); ++i) {
    if (totals_.events >= last_wanted) return false;
    LookAhead(events, i);
    if (totals_.events >= samples_.next_event()) TakeSample();
    ++totals_.events;
    if (events[i].thread >= kLaneCapacity) {
      totals_.too_large = true;
      Skip();
    } else {
      AddOne(events[i]);
    }
    if (totals_.too_large) return false;
    if (totals_.events == options_.trim_at_event) {
      FlushSkips();
      Put(Encode(Op::kTrim, 1, 0));
    }
  }
  return totals_.events < last_wanted;
}

// Has what a later event reads brought into the cache: first its entry of the table,
// then the block that the entry names. Addresses that come out of a realloc mostly went
// in, or lie beside those that were freed last.
inline void PlanCompiler::LookAhead(absl::Span<const Event> events, size_t i) {
  if (i + kTableAhead >= events.size()) return;
  const auto address_of = [](const Event& event) {
    return event.old_address != 0 ? event.old_address : event.address;
  };
  table_.Prefetch(address_of(events[i + kTableAhead]));
  __builtin_prefetch(blocks_.data() + table_.Guess(address_of(events[i + kBlockAhead])), 1);
}

void PlanCompiler::Finish(std::vector<uint64_t>* words) {
  const size_t words_before = words->size();
  words_ = words;
  TakeSample();
  Put(Encode(Op::kEnd, 0, 0));
  totals_.words += words->size() - words_before;
}

void PlanCompiler::AddOne(const Event& event) {
  switch (event.kind) {
    case EventKind::kMalloc:
      Allocate(event, Op::kMalloc, event.size);
      return;
    case EventKind::kCalloc:
      Allocate(event, Op::kCalloc, event.size);
      return;
    case EventKind::kMemalign:
    case EventKind::kAlignedAlloc:
    case EventKind::kPosixMemalign:
    case EventKind::kValloc:
      Allocate(event, Op::kMemalign, event.size);
      return;
    case EventKind::kPvalloc: {
      const uint64_t page = uint64_t{1} << (event.alignment_log2 & 63);
      Allocate(event, Op::kMemalign, (event.size + page - 1) & ~(page - 1));
      return;
    }
    case EventKind::kFree:
      Free(event);
      return;
    case EventKind::kRealloc:
      Realloc(event);
      return;
    case EventKind::kReallocBegin:
      BeginRealloc(event);
      return;
    case EventKind::kReallocEnd:
      EndRealloc(event);
      return;
    case EventKind::kThreadStart:
    case EventKind::kFork:
      Skip();
      return;
    case EventKind::kThreadEnd:
      EndThread(event);
      return;
    case EventKind::kMallopt:
      ++totals_.mallopt_calls;
      if (options_.ignore_mallopt) {
        Skip();
      } else {
        Call(event.thread, Op::kMallopt, 0, (event.size & 0xffffffff) | event.old_address << 32);
      }
      return;
    case EventKind::kMallocTrim:
      Call(event.thread, Op::kTrim, 0, event.size);
      return;
  }
  Skip();  // a kind that a newer recorder knows
}

void PlanCompiler::Allocate(const Event& event, Op op, uint64_t size) {
  if (event.address == 0) {
    ++totals_.failed_allocations;
    Skip();
    return;
  }
  // The address may be taken: that block is dropped before this one is made,
  // as it must have been in the program.
  const uint32_t slot = TakeSlot();
  if (slot == kNone) {
    Skip();
    return;
  }
  Map(event.address, slot);
  PlanBlock& block = blocks_[slot];
  block.alignment_log2 = op == Op::kMemalign ? event.alignment_log2 & 63 : 0;
  Resize(&block, event);
  ++totals_.allocations;
  ++totals_.live_blocks;
  totals_.peak_live_blocks = std::max(totals_.peak_live_blocks, totals_.live_blocks);
  Call(event.thread, op, slot, size);
}

void PlanCompiler::Free(const Event& event) {
  if (event.address == 0) {
    Skip();
    return;
  }
  const uint32_t slot = table_.Erase(event.address);
  if (slot == kNone) {
    ++totals_.orphan_frees;
    Skip();
    return;
  }
  Call(event.thread, Op::kFree, slot, 0);
  ReleaseSlot(slot);
}

void PlanCompiler::Realloc(const Event& event) {
  if (event.old_address == 0) {
    Allocate(event, Op::kMalloc, event.size);
    return;
  }
  const uint32_t slot = table_.Erase(event.old_address);
  if (slot == kNone) ++totals_.orphan_frees;
  FinishRealloc(event, slot);
}

void PlanCompiler::BeginRealloc(const Event& event) {
  uint32_t slot = kNone;
  if (event.old_address != 0) {
    slot = table_.Erase(event.old_address);
    if (slot == kNone) ++totals_.orphan_frees;
  }
  pending_.push_back({event.thread, slot});
  Skip();
}

void PlanCompiler::EndRealloc(const Event& event) {
  uint32_t slot = kNone;
  const auto mine = std::find_if(pending_.rbegin(), pending_.rend(),
                                 [&](const auto& p) { return p.thread == event.thread; });
  if (mine == pending_.rend()) {
    ++totals_.contradictions;
  } else {
    slot = mine->slot;
    pending_.erase(std::next(mine).base());
  }
  FinishRealloc(event, slot);
}

// `slot` is the block that went in, already out of the table, or kNone.
void PlanCompiler::FinishRealloc(const Event& event, uint32_t slot) {
  if (slot == kNone) {
    // realloc(unknown, 0) has freed a block that we never knew; nothing failed.
    if (event.address == 0 && event.size == 0) {
      Skip();
    } else {
      Allocate(event, Op::kMalloc, event.size);
    }
    return;
  }
  PlanBlock& block = blocks_[slot];
  if (event.address == 0 && event.size == 0) {
    Call(event.thread, Op::kFree, slot, 0);
    ReleaseSlot(slot);
    return;
  }
  if (event.address == 0) {
    ++totals_.failed_allocations;
    // Its address has been given to another meanwhile only in a trace that is
    // wrong. The newer block keeps it, this one lives on unnamed.
    if (table_.Find(block.recorded_address) == kNone) {
      table_.Exchange(block.recorded_address, slot);
    } else {
      ++totals_.contradictions;
    }
    Skip();
    return;
  }
  Map(event.address, slot);
  totals_.requested_bytes -= block.requested_bytes;
  Resize(&block, event);
  // glibc's realloc(p, 0) frees, and this one did not: ask for a byte, which
  // gives the same smallest block.
  Call(event.thread, Op::kRealloc, slot, std::max<uint64_t>(event.size, 1));
}

void PlanCompiler::EndThread(const Event& event) {
  if (event.thread == 0 || event.thread >= lanes_.size() ||
      lanes_[event.thread] != LaneState::kRunning) {
    Skip();
    return;
  }
  Call(event.thread, Op::kLaneEnd, event.thread, 0);
  lanes_[event.thread] = LaneState::kEnded;
  lane_ = kNone;
}

// Names the block in `slot` by `address`, dropping the block that had it.
void PlanCompiler::Map(uint64_t address, uint32_t slot) {
  blocks_[slot].recorded_address = address;
  const uint32_t old = table_.Exchange(address, slot);
  if (old == kNone) return;
  ++totals_.contradictions;
  FlushSkips();
  Put(Encode(Op::kDrop, old, 0));
  ReleaseSlot(old);
}

void PlanCompiler::Call(uint32_t thread, Op op, uint64_t slot, uint64_t size) {
  FlushSkips();
  if (thread != lane_) EnterLane(thread);
  if (op == Op::kMemalign) {
    Put(Encode(op, slot, blocks_[slot].alignment_log2) | kWideBit);
    Put(size);
  } else if (op == Op::kMallopt || size > kMaxNarrowSize) {
    Put(Encode(op, slot, 0) | kWideBit);
    Put(size);
  } else {
    Put(Encode(op, slot, size));
  }
  if (options_.placement && HasRecordedAddress(op)) Put(blocks_[slot].recorded_address);
}

void PlanCompiler::EnterLane(uint32_t thread) {
  if (thread >= lanes_.size()) lanes_.resize(thread + 1, LaneState::kUnused);
  if (lanes_[thread] == LaneState::kEnded) {
    ++totals_.late_calls;
    thread = 0;
    if (lane_ == 0) return;
  } else if (lanes_[thread] == LaneState::kUnused) {
    lanes_[thread] = LaneState::kRunning;
    ++totals_.threads;
  }
  lane_ = thread;
  Put(Encode(Op::kLane, thread, 0));
}

void PlanCompiler::FlushSkips() {
  while (skipped_ != 0) {
    const uint64_t step = std::min(skipped_, kMaxNarrowSize);
    Put(Encode(Op::kSkip, 0, step));
    skipped_ -= step;
  }
}

void PlanCompiler::TakeSample() {
  FlushSkips();
  if (samples_.full()) {
    Put(Encode(Op::kHalve, 0, 0));
    samples_.Halve();
  }
  Put(Encode(Op::kSample, samples_.Take(totals_.events, totals_.requested_bytes), 0));
}

uint32_t PlanCompiler::TakeSlot() {
  if (!free_slots_.empty()) {
    const uint32_t slot = free_slots_.back();
    free_slots_.pop_back();
    return slot;
  }
  if (blocks_.size() == kSlotCapacity) {
    totals_.too_large = true;
    return kNone;
  }
  const uint32_t slot = blocks_.size();
  blocks_.emplace_back();
  if (slot >= announced_slots_) {
    announced_slots_ += kSlotStep;
    Put(Encode(Op::kSlots, 0, announced_slots_));
  }
  return slot;
}

void PlanCompiler::ReleaseSlot(uint32_t slot) {
  totals_.requested_bytes -= blocks_[slot].requested_bytes;
  --totals_.live_blocks;
  blocks_[slot].event = 0;
  free_slots_.push_back(slot);
}

void PlanCompiler::Resize(PlanBlock* block, const Event& event) {
  block->event = totals_.events;
  block->requested_bytes = event.size;
  block->thread = event.thread;
  block->kind = event.kind;
  totals_.requested_bytes += event.size;
  if (totals_.requested_bytes > totals_.peak_requested_bytes) {
    totals_.peak_requested_bytes = totals_.requested_bytes;
    totals_.peak_requested_event = totals_.events;
  }
}

}  // namespace heaptape
