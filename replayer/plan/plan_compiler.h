// PlanCompiler: events in, instructions for the engine out.
//
// Mainland. One thread at a time. Streams: its memory grows with the number of
// blocks that are live at once, not with events. Recorded addresses end here;
// behind it a block is a slot, a small number that is used again as soon as its
// block is gone (last freed, first reused), and a thread is a lane.
//
// A trace may be wrong: the recorder lost events, or the program mixed
// allocators. The compiler never fails on that. It keeps the plan valid (see
// plan_checker.h), keeps event numbers those of the trace, and counts:
//
//   free or realloc of an address not live    orphan; a realloc acts as malloc
//   allocation of an address that is live     contradiction; the old block is
//                                             dropped first, so the heap stays bounded
//   allocation that returned 0                asks nothing of the engine
//   a failed realloc                          its old block stays
//
// Lane 0 is the engine's first thread, as thread 0 was the program's; its end is
// not replayed. Threads that end without a call get no lane; calls of a thread
// that has ended (frees out of late destructors) are made by lane 0.

#ifndef HEAPTAPE_REPLAYER_PLAN_PLAN_COMPILER_H_
#define HEAPTAPE_REPLAYER_PLAN_PLAN_COMPILER_H_

#include <cstdint>
#include <vector>

#include "absl/types/span.h"
#include "proto/event.h"
#include "replayer/plan/address_table.h"
#include "replayer/plan/instruction.h"
#include "replayer/plan/plan_block.h"
#include "replayer/plan/sample_schedule.h"

namespace heaptape {

struct PlanOptions {
  // Stop after this event, as if the trace ended there. 0: at its end.
  uint64_t until_event = 0;
  // Call malloc_trim(0) after this event. 0: never.
  uint64_t trim_at_event = 0;
  // Leave the program's own mallopt calls out, so that they do not override
  // the settings under test.
  bool ignore_mallopt = false;
  // Give the engine the recorded addresses too, to compare its own with: half as
  // many words again.
  bool placement = false;

  bool operator==(const PlanOptions&) const = default;
};

struct PlanTotals {
  uint64_t events = 0;  // number of the last one
  uint64_t words = 0;
  uint64_t threads = 1;      // that made a call; the first is taken to have made one
  uint64_t allocations = 0;  // blocks made, reallocs of a live block not counted
  uint64_t requested_bytes = 0, peak_requested_bytes = 0, peak_requested_event = 0;
  uint64_t live_blocks = 0, peak_live_blocks = 0;
  uint64_t orphan_frees = 0;
  uint64_t failed_allocations = 0;
  uint64_t contradictions = 0;
  uint64_t late_calls = 0;      // runs of calls by a thread after its end
  uint64_t missing_events = 0;  // numbers that no event came for
  uint64_t mallopt_calls = 0;   // replayed or not
  bool too_large = false;       // more than kSlotCapacity blocks or kLaneCapacity threads

  bool operator==(const PlanTotals&) const = default;
};

class PlanCompiler {
 public:
  // `expected_events`: how many there will be in all; 0 if that is not known. It decides
  // after which of them samples are taken.
  explicit PlanCompiler(const PlanOptions& options = {}, uint64_t expected_events = 0)
      : options_(options), samples_(expected_events) {}
  PlanCompiler(const PlanCompiler&) = delete;
  PlanCompiler& operator=(const PlanCompiler&) = delete;

  // Appends the instructions for `events`, numbered from `first_event` on, to
  // *words. Numbers never go back; a gap is skipped over. False once nothing
  // more is wanted: options.until_event is done, or the trace has more live
  // blocks or threads than a plan can name (totals().too_large).
  bool Add(uint64_t first_event, absl::Span<const Event> events, std::vector<uint64_t>* words);

  // Appends the last instructions. Nothing may be added afterwards.
  void Finish(std::vector<uint64_t>* words);

  const PlanTotals& totals() const { return totals_; }
  // By slot. An engine that has done the plan so far holds exactly these.
  const PlanBlocks& blocks() const { return blocks_; }
  const SampleSchedule& samples() const { return samples_; }

 private:
  // A realloc between its two events: out of the table, still live.
  struct PendingRealloc {
    uint32_t thread;
    uint32_t slot;  // kNone: of no block that we know
  };

  enum class LaneState : uint8_t { kUnused, kRunning, kEnded };

  void LookAhead(absl::Span<const Event> events, size_t i);
  bool AddAll(uint64_t first_event, absl::Span<const Event> events, std::vector<uint64_t>* words);
  void AddOne(const Event& event);
  void Allocate(const Event& event, Op op, uint64_t size);
  void Free(const Event& event);
  void Realloc(const Event& event);
  void BeginRealloc(const Event& event);
  void EndRealloc(const Event& event);
  void FinishRealloc(const Event& event, uint32_t slot);
  void EndThread(const Event& event);

  void Map(uint64_t address, uint32_t slot);
  void Call(uint32_t thread, Op op, uint64_t slot, uint64_t size);
  void EnterLane(uint32_t thread);
  void Skip() { ++skipped_; }
  void FlushSkips();
  void Put(uint64_t word) { words_->push_back(word); }
  void TakeSample();

  uint32_t TakeSlot();
  void ReleaseSlot(uint32_t slot);
  void Resize(PlanBlock* block, const Event& event);

  const PlanOptions options_;
  PlanTotals totals_;
  std::vector<uint64_t>* words_ = nullptr;

  PlanBlocks blocks_;
  AddressTable table_{&blocks_};
  std::vector<uint32_t> free_slots_;  // last in, first out
  uint64_t announced_slots_ = 0;
  std::vector<PendingRealloc> pending_;  // few; the last of a thread is its innermost

  uint32_t lane_ = 0;
  std::vector<LaneState> lanes_ = {LaneState::kRunning};  // by thread
  uint64_t skipped_ = 0;  // events that no instruction stands for yet
  SampleSchedule samples_;
};

}  // namespace heaptape

#endif  // HEAPTAPE_REPLAYER_PLAN_PLAN_COMPILER_H_
