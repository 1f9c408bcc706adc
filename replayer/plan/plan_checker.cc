#include "replayer/plan/plan_checker.h"

#include "absl/strings/str_cat.h"

namespace heaptape {

namespace {

// Ops that stand for a call, which some lane must make.
bool IsCall(Op op) {
  switch (op) {
    case Op::kMalloc:
    case Op::kCalloc:
    case Op::kRealloc:
    case Op::kFree:
    case Op::kMemalign:
    case Op::kMallopt:
    case Op::kTrim:
    case Op::kDrop:
      return true;
    default:
      return false;
  }
}

constexpr uint64_t kNoLane = ~uint64_t{0};

}  // namespace

absl::Status PlanChecker::Add(absl::Span<const uint64_t> words) {
  for (const uint64_t word : words) {
    const char* wrong = nullptr;
    if (operands_ > 0) {
      --operands_;
    } else {
      wrong = CheckWord(word);
    }
    if (wrong != nullptr) {
      return absl::InvalidArgumentError(
          absl::StrCat("plan word ", offset_, " (", absl::Hex(word), "): ", wrong));
    }
    ++offset_;
  }
  return absl::OkStatus();
}

absl::Status PlanChecker::Finish() const {
  if (ended_) return absl::OkStatus();
  return absl::InvalidArgumentError(absl::StrCat("plan of ", offset_, " words does not end"));
}

const char* PlanChecker::CheckWord(uint64_t word) {
  const uint64_t slot = SlotOf(word);
  const uint64_t size = SizeOf(word);
  const Op op = OpOf(word);
  if (ended_) return "after the end";
  if (IsWide(word)) {
    ++operands_;
    if (op == Op::kMemalign ? size > 63 : size != 0) return "upper half of a wide word";
    if (!IsCall(op)) return "wide, but no call";
  }
  if (placement_ && HasRecordedAddress(op)) ++operands_;
  if (IsCall(op)) {
    if ((op == Op::kMemalign || op == Op::kMallopt) && !IsWide(word)) return "not wide";
    return CheckCall(op, slot);
  }
  switch (op) {
    case Op::kEnd:
      ended_ = true;
      return nullptr;
    case Op::kLane:
      if (slot >= kLaneCapacity) return "lane beyond the last possible";
      if (slot >= lanes_.size()) lanes_.resize(slot + 1, LaneState::kUnused);
      if (lanes_[slot] == LaneState::kEnded) return "lane has ended";
      lanes_[slot] = LaneState::kRunning;
      lane_ = slot;
      return nullptr;
    case Op::kLaneEnd:
      return CheckLaneEnd(slot);
    case Op::kSample:
      if (slot >= kSampleCapacity) return "sample beyond the last possible";
      if (slot != samples_) return "sample out of order";
      ++samples_;
      return nullptr;
    case Op::kHalve:
      if (samples_ != kSampleCapacity) return "samples are not full";
      samples_ /= 2;
      return nullptr;
    case Op::kSkip:
      if (size == 0) return "skips nothing";
      events_ += size;
      return nullptr;
    case Op::kSlots:
      if (size > kSlotCapacity || size <= slots_ || size % kSlotsAPage != 0) return "number of slots";
      slots_ = size;
      live_.resize(size);
      return nullptr;
    default:
      return "unknown op";
  }
}

const char* PlanChecker::CheckCall(Op op, uint64_t slot) {
  if (lane_ == kNoLane) return "call after the lane's end";
  if (op != Op::kDrop && !(op == Op::kTrim && slot == 1)) ++events_;
  if (op == Op::kMallopt) return slot == 0 ? nullptr : "slot of a mallopt";
  if (op == Op::kTrim) return slot <= 1 ? nullptr : "slot of a trim";
  if (slot >= slots_) return "slot was not announced";
  const bool was_live = live_[slot];
  switch (op) {
    case Op::kFree:
    case Op::kDrop:
      live_[slot] = false;
      --live_blocks_;
      return was_live ? nullptr : "slot is empty";
    case Op::kRealloc:
      return was_live ? nullptr : "slot is empty";
    default:
      live_[slot] = true;
      ++live_blocks_;
      return was_live ? "slot holds a block" : nullptr;
  }
}

const char* PlanChecker::CheckLaneEnd(uint64_t lane) {
  if (lane == 0) return "lane 0 cannot end";
  if (lane != lane_) return "lane that ends is not current";
  lanes_[lane] = LaneState::kEnded;
  lane_ = kNoLane;
  ++events_;
  return nullptr;
}

}  // namespace heaptape
