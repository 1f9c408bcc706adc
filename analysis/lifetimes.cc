#include "analysis/lifetimes.h"

#include <algorithm>
#include <bit>

namespace heaptape {

void Lifetimes::Add(uint64_t first_event, absl::Span<const Event> events) {
  uint64_t number = first_event;
  for (const Event& event : events) {
    switch (event.kind) {
      case EventKind::kFree:
        Died(event.address, number, false);
        break;
      case EventKind::kRealloc:
        // One that failed leaves its block as it was.
        if (event.address != 0 || event.size == 0) Died(event.old_address, number, false);
        Born(event.address, event.size, number);
        break;
      case EventKind::kReallocBegin:
        Died(event.old_address, number, false);
        break;
      case EventKind::kMalloc:
      case EventKind::kCalloc:
      case EventKind::kReallocEnd:
      case EventKind::kMemalign:
      case EventKind::kAlignedAlloc:
      case EventKind::kPosixMemalign:
      case EventKind::kValloc:
      case EventKind::kPvalloc:
        Born(event.address, event.size, number);
        break;
      default:
        break;
    }
    last_event_ = number++;
  }
}

LifetimeReport Lifetimes::Finish(const ReplayResult& result) {
  for (const auto& [address, block] : live_) Aged(block, last_event_, true);
  live_.clear();
  for (const LiveBlock& block : result.blocks) {
    LifetimeClass& totals = ClassOf(block.requested_bytes).totals;
    ++totals.live_count;
    totals.live_requested_bytes += block.requested_bytes;
    totals.live_usable_bytes += block.usable_bytes;
  }
  LifetimeReport report;
  report.at_event = last_event_;
  report.peak_event = peak_event_;
  std::array<uint64_t, kAgeBuckets> ages = {};
  LifetimeClass& all = report.all;
  for (auto& [min_bytes, state] : classes_) {
    LifetimeClass& totals = state.totals;
    totals.median_age = Quantile(state.ages, totals.count, 0.5);
    totals.p99_age = Quantile(state.ages, totals.count, 0.99);
    for (size_t i = 0; i < ages.size(); ++i) ages[i] += state.ages[i];
    all.count += totals.count;
    all.bytes += totals.bytes;
    all.peak_count += totals.peak_count;
    all.peak_bytes += totals.peak_bytes;
    all.outlive_count += totals.outlive_count;
    all.outlive_bytes += totals.outlive_bytes;
    all.live_count += totals.live_count;
    all.live_requested_bytes += totals.live_requested_bytes;
    all.live_usable_bytes += totals.live_usable_bytes;
    all.max_bytes = std::max(all.max_bytes, totals.max_bytes);
    report.classes.push_back(totals);
  }
  all.median_age = Quantile(ages, all.count, 0.5);
  all.p99_age = Quantile(ages, all.count, 0.99);
  return report;
}

size_t Lifetimes::AgeBucket(uint64_t age) {
  if (age < (uint64_t{1} << kSubBits)) return age;
  const int shift = std::bit_width(age) - 1 - kSubBits;
  return (static_cast<size_t>(shift + 1) << kSubBits) + ((age >> shift) & ((1u << kSubBits) - 1));
}

uint64_t Lifetimes::BucketAge(size_t bucket) {
  if (bucket < (size_t{1} << kSubBits)) return bucket;
  const size_t shift = (bucket >> kSubBits) - 1;
  return ((uint64_t{1} << kSubBits) + (bucket & ((1u << kSubBits) - 1))) << shift;
}

uint64_t Lifetimes::Quantile(const std::array<uint64_t, kAgeBuckets>& ages, uint64_t count, double quantile) {
  if (count == 0) return 0;
  const uint64_t rank = static_cast<uint64_t>(quantile * static_cast<double>(count - 1));
  uint64_t seen = 0;
  for (size_t i = 0; i < ages.size(); ++i) {
    seen += ages[i];
    if (seen > rank) return BucketAge(i);
  }
  return 0;
}

Lifetimes::ClassState& Lifetimes::ClassOf(uint64_t bytes) {
  const uint64_t min_bytes = bytes == 0 ? 0 : std::bit_floor(bytes);
  ClassState& state = classes_[min_bytes];
  state.totals.min_bytes = min_bytes;
  state.totals.max_bytes = min_bytes == 0 ? 0 : 2 * min_bytes - 1;
  return state;
}

void Lifetimes::Born(uint64_t address, uint64_t bytes, uint64_t event) {
  if (address == 0) return;
  const auto [found, is_new] = live_.try_emplace(address, Block{bytes, event});
  if (!is_new) {  // the recording lacks its end
    Aged(found->second, event, false);
    found->second = {bytes, event};
  }
  LifetimeClass& totals = ClassOf(bytes).totals;
  ++totals.count;
  totals.bytes += bytes;
}

void Lifetimes::Died(uint64_t address, uint64_t event, bool at_end) {
  const auto found = live_.find(address);
  if (found == live_.end()) return;
  Aged(found->second, event, at_end);
  live_.erase(found);
}

void Lifetimes::Aged(const Block& block, uint64_t event, bool at_end) {
  ClassState& state = ClassOf(block.bytes);
  ++state.ages[AgeBucket(event - block.event)];
  if (block.event > peak_event_ || (!at_end && event <= peak_event_)) return;
  ++state.totals.peak_count;
  state.totals.peak_bytes += block.bytes;
  if (!at_end) return;
  ++state.totals.outlive_count;
  state.totals.outlive_bytes += block.bytes;
}

}  // namespace heaptape
