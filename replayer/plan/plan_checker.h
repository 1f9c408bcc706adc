// PlanChecker: is a sequence of words a plan that instruction.h allows?
//
// Mainland; one thread at a time. For tests, fuzzers and doubt: the engine only
// checks what could make it write astray. A plan may come in pieces of any
// length; memory is a bit a slot and a byte a lane.

#ifndef HEAPTAPE_REPLAYER_PLAN_PLAN_CHECKER_H_
#define HEAPTAPE_REPLAYER_PLAN_PLAN_CHECKER_H_

#include <cstdint>
#include <vector>

#include "absl/status/status.h"
#include "absl/types/span.h"
#include "replayer/plan/instruction.h"

namespace heaptape {

class PlanChecker {
 public:
  // `placement`: the plan has recorded addresses.
  explicit PlanChecker(bool placement = false) : placement_(placement) {}

  // Checks the next words. InvalidArgument, naming the word's offset in the
  // plan, at the first that breaks a rule; the checker is of no use after that.
  absl::Status Add(absl::Span<const uint64_t> words);

  // InvalidArgument if the plan has not ended with kEnd.
  absl::Status Finish() const;

  uint64_t events() const { return events_; }
  uint64_t live_blocks() const { return live_blocks_; }

 private:
  enum class LaneState : uint8_t { kUnused, kRunning, kEnded };

  // Null when all is well, else what is wrong.
  const char* CheckWord(uint64_t word);
  const char* CheckCall(Op op, uint64_t slot);
  const char* CheckLaneEnd(uint64_t lane);

  const bool placement_;
  uint64_t offset_ = 0;  // in words
  uint64_t events_ = 0;
  uint64_t slots_ = 0;  // that may be used
  uint64_t live_blocks_ = 0;
  std::vector<bool> live_;
  std::vector<LaneState> lanes_ = {LaneState::kRunning};
  uint64_t lane_ = 0;
  uint64_t samples_ = 0;
  int operands_ = 0;  // so many of the next words are none of instructions
  bool ended_ = false;
};

}  // namespace heaptape

#endif  // HEAPTAPE_REPLAYER_PLAN_PLAN_CHECKER_H_
