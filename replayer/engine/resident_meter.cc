#include "replayer/engine/resident_meter.h"

#include <sys/syscall.h>

#include "replayer/engine/own_pages.h"
#include "replayer/engine/raw_syscall.h"

namespace heaptape {

namespace {

constexpr uint64_t kVectorPages = 64 << 10;

// In pages looked at, 3 ns each: a tenth of a second for any trace, which is to last
// until its end, and about a quarter of the time that its events take.
constexpr uint64_t kTraceBudget = 32 << 20;
constexpr uint64_t kBudgetPerEvent = 2;
// What a system call costs beside its pages.
constexpr uint64_t kCallCost = 100;

}  // namespace

const char* ResidentMeter::Init(const RegionTable* table, uint64_t expected_events) {
  table_ = table;
  expected_events_ = expected_events;
  spent_ = bytes_ = peak_bytes_ = peak_event_ = 0;
  vector_ = (unsigned char*)MapOwn(kVectorPages);
  if (vector_ == nullptr) return "no memory for mincore";
  PrepareOwn(vector_, kVectorPages);
  return nullptr;
}

uint64_t ResidentMeter::Sample(uint64_t event) {
  const uint64_t cost = Cost();
  if (spent_ + cost > Budget(event)) return bytes_;
  spent_ += cost;
  return Measure(event);
}

uint64_t ResidentMeter::Measure(uint64_t event) {
  bytes_ = 0;
  // Pieces that touch are one question.
  uint64_t lo = 0, hi = 0;
  for (const RegionTable::Piece* p = table_->AtOrAbove(0); p != nullptr;
       p = table_->AtOrAbove(p->hi)) {
    if ((p->flags & RegionTable::kWritable) == 0) continue;
    if (p->lo != hi) {
      bytes_ += Count(lo, hi);
      lo = p->lo;
    }
    hi = p->hi;
  }
  bytes_ += Count(lo, hi);
  if (bytes_ > peak_bytes_) {
    peak_bytes_ = bytes_;
    peak_event_ = event;
  }
  return bytes_;
}

uint64_t ResidentMeter::Budget(uint64_t event) const {
  const double part = event < expected_events_ ? (double)event / (double)expected_events_ : 1;
  return (uint64_t)((double)kTraceBudget * part) + event * kBudgetPerEvent;
}

uint64_t ResidentMeter::Cost() const {
  return table_->writable_bytes() / kPageBytes + (table_->mappings() + 1) * kCallCost;
}

uint64_t ResidentMeter::Count(uint64_t lo, uint64_t hi) const {
  uint64_t pages = 0;
  while (lo < hi) {
    const uint64_t left = (hi - lo + kPageBytes - 1) / kPageBytes;
    const uint64_t step = left < kVectorPages ? left : kVectorPages;
    if (RawSyscall(SYS_mincore, lo, step * kPageBytes, vector_) == 0) {
      for (uint64_t i = 0; i < step; ++i) pages += vector_[i] & 1;
    }
    lo += step * kPageBytes;
  }
  return pages * kPageBytes;
}

}  // namespace heaptape
