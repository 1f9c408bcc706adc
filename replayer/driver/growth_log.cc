#include "replayer/driver/growth_log.h"

#include <algorithm>

namespace heaptape {

namespace {

GrowthStep::Kind KindOf(const MemoryCall& call) {
  switch (call.kind) {
    case MemoryCall::kBrk:
      return GrowthStep::Kind::kBrk;
    case MemoryCall::kMmap:
      return GrowthStep::Kind::kMmap;
    case MemoryCall::kMremap:
      return GrowthStep::Kind::kMremap;
    case MemoryCall::kMprotect:
      return GrowthStep::Kind::kMprotect;
    default:
      return GrowthStep::Kind::kRegrown;
  }
}

// brk's new bytes end where it says.
uint64_t AddressOf(const MemoryCall& call) {
  return call.kind == MemoryCall::kBrk ? call.address - call.bytes : call.address;
}

void Join(const GrowthStep& next, GrowthStep* step) {
  step->last_event = next.last_event;
  step->steps += next.steps;
  step->bytes += next.bytes;
  step->system_bytes = next.system_bytes;
  if (step->origin != next.origin) step->origin = GrowthStep::kNoOrigin;
  if (step->kind != next.kind) step->kind = GrowthStep::Kind::kMixed;
  step->arena_heap = step->arena_heap && next.arena_heap;
  step->new_peak = step->new_peak || next.new_peak;
}

}  // namespace

void GrowthLog::Add(const MemoryCall& call) {
  GrowthStep step;
  step.event = step.last_event = call.event;
  if (call.bytes_before > system_bytes_) {
    step.bytes = call.bytes_before - system_bytes_;
    step.system_bytes = call.bytes_before;
    step.kind = GrowthStep::Kind::kRegrown;
    step.arena_heap = true;
    Append(step);
  }
  if (call.bytes_after > call.bytes_before) {
    step.bytes = call.bytes_after - call.bytes_before;
    step.system_bytes = call.bytes_after;
    step.address = AddressOf(call);
    step.origin = call.origin;
    step.kind = KindOf(call);
    step.arena_heap = (call.flags & MemoryCall::kArenaHeap) != 0;
    Append(step);
  }
  system_bytes_ = call.bytes_after;
}

void GrowthLog::Append(GrowthStep step) {
  step.new_peak = step.system_bytes > peak_bytes_;
  peak_bytes_ = std::max(peak_bytes_, step.system_bytes);
  if (steps_.size() == capacity_) JoinSmall();
  steps_.push_back(step);
}

void GrowthLog::JoinSmall() {
  for (;; small_bytes_ *= 2) {
    size_t kept = 0;  // the last that is
    for (size_t i = 1; i < steps_.size(); ++i) {
      if (steps_[kept].bytes < small_bytes_ && steps_[i].bytes < small_bytes_) {
        Join(steps_[i], &steps_[kept]);
      } else {
        steps_[++kept] = steps_[i];
      }
    }
    steps_.resize(kept + 1);
    if (steps_.size() <= capacity_ / 2) return;
  }
}

}  // namespace heaptape
