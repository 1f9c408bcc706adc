#include "proto/compact_codec.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "proto/batch_codec.h"
#include "proto/varint.h"

namespace heaptape {
namespace {

// The low three bits of a word of `calls`; the rest is its value.
enum CallCode : uint64_t {
  kFreeCode = 0,           // value: reference, or 0 where it stands apart
  kMallocCode = 1,         // value: size
  kFailedMallocCode = 2,   // value: size
  kReallocCode = 3,        // value: size; then reference
  kFailedReallocCode = 4,  // value: size; then reference
  kCallocCode = 5,         // value: size
  kOtherCode = 6,          // value: EventKind; then as Other()
  kThreadCode = 7,         // value: thread of the events that follow; no event itself
};
constexpr int kCodeBits = 3;
constexpr uint64_t kMaxInlineSize = uint64_t{1} << 59;
constexpr uint32_t kMaxThreads = 1 << 22;

// References: a rank plus kFirstRank, or one of these.
constexpr uint64_t kNull = 0;
constexpr uint64_t kUnknown = 1;  // a block that the trace has not shown allocated
constexpr uint64_t kFirstRank = 2;
// Results: the same, a rank meaning that the address was that of a live block.
constexpr uint64_t kFailed = 0;
constexpr uint64_t kNew = 1;

// Made-up addresses: that of unknown blocks, then one for each allocation.
constexpr uint64_t kAddressStep = 16;
constexpr uint64_t kUnknownAddress = kAddressStep;
constexpr uint64_t kFirstAddress = 2 * kAddressStep;

bool HasOldBlock(EventKind kind) { return kind == EventKind::kRealloc || kind == EventKind::kReallocBegin; }
bool IsPlain(EventKind kind) { return kind == EventKind::kMallopt || kind == EventKind::kMallocTrim; }
// A realloc to no bytes that gives nothing has freed; any other has failed.
bool Released(const Event& event) { return event.address != 0 || event.size == 0; }

}  // namespace

uint64_t PendingReallocs::End(uint32_t thread) {
  const auto mine = pending_.find(thread);
  if (mine == pending_.end() || mine->second.empty()) return 0;
  const uint64_t address = mine->second.back();
  mine->second.pop_back();
  return address;
}

// ---------------------------------------------------------------------------
// CompactEncoder

// Writes one batch in both layouts at once.
class CompactEncoder::Batch {
 public:
  explicit Batch(size_t events)
      : with_ranks_(&with_ranks_column_, events * 6), calls_(&calls_column_, events * 5), ranks_(&ranks_column_, events) {}

  void Put(uint64_t value) {
    with_ranks_.Put(value);
    calls_.Put(value);
  }
  void Put(CallCode code, uint64_t value) { Put(value << kCodeBits | code); }
  void PutReference(uint64_t reference) {
    with_ranks_.Put(reference);
    ranks_.Put(reference);
  }
  void PutFree(uint64_t reference) {
    with_ranks_.Put(reference << kCodeBits | kFreeCode);
    calls_.Put(kFreeCode);
    ranks_.Put(reference);
  }

  void Finish(Streams* streams) {
    streams->calls_with_ranks.assign(with_ranks_.written().data(), with_ranks_.written().size());
    streams->calls.assign(calls_.written().data(), calls_.written().size());
    streams->ranks.assign(ranks_.written().data(), ranks_.written().size());
  }

 private:
  std::string with_ranks_column_, calls_column_, ranks_column_;
  VarintWriter with_ranks_, calls_, ranks_;
};

CompactEncoder::CompactEncoder()
    : order_([this](uint64_t address, uint32_t position) {
        if (address != 0) position_of_[address] = position;
      }) {}

uint64_t CompactEncoder::ReferTo(uint64_t address, bool released) {
  if (address == 0) return kNull;
  const auto found = position_of_.find(address);
  if (found == position_of_.end()) return kUnknown;
  const uint32_t position = found->second;
  const uint64_t rank = order_.RankOf(position);
  if (released) {
    order_.Remove(position);
    position_of_.erase(found);
  }
  return rank + kFirstRank;
}

uint64_t CompactEncoder::ResultOf(uint64_t address) {
  if (address == 0) return kFailed;
  const uint64_t taken = ReferTo(address, true);
  position_of_[address] = order_.Add(address);
  return taken == kUnknown ? kNew : taken;
}

void CompactEncoder::Encode(absl::Span<const Event> events, Streams* streams) {
  Batch batch(events.size());
  uint32_t thread = 0;
  for (const Event& event : events) {
    if (event.thread != thread) {
      thread = event.thread;
      batch.Put(kThreadCode, thread);
    }
    const bool simple = event.size < kMaxInlineSize &&
                        (event.address == 0 || event.address == event.old_address ||
                         position_of_.find(event.address) == position_of_.end());
    if (event.kind == EventKind::kFree) {
      batch.PutFree(ReferTo(event.address, true));
    } else if (event.kind == EventKind::kMalloc && simple) {
      batch.Put(event.address != 0 ? kMallocCode : kFailedMallocCode, event.size);
      ResultOf(event.address);
    } else if (event.kind == EventKind::kCalloc && simple && event.address != 0) {
      batch.Put(kCallocCode, event.size);
      ResultOf(event.address);
    } else if (event.kind == EventKind::kRealloc && simple) {
      batch.Put(event.address != 0 ? kReallocCode : kFailedReallocCode, event.size);
      batch.PutReference(ReferTo(event.old_address, Released(event)));
      ResultOf(event.address);
    } else {
      batch.Put(kOtherCode, static_cast<uint64_t>(event.kind));
      batch.Put(event.size);
      if (HasAlignment(event.kind)) batch.Put(event.alignment_log2);
      if (event.kind == EventKind::kMallopt) batch.Put(event.old_address);
      if (IsPlain(event.kind)) batch.Put(event.address);
      if (event.kind == EventKind::kReallocBegin) {
        const uint64_t reference = ReferTo(event.old_address, true);
        batch.PutReference(reference);
        pending_.Begin(thread, reference >= kFirstRank ? event.old_address : 0);
        continue;
      }
      if (event.kind == EventKind::kRealloc) {
        batch.PutReference(ReferTo(event.old_address, Released(event)));
      } else if (event.kind == EventKind::kReallocEnd) {
        const uint64_t old = pending_.End(thread);
        if (old != 0 && !Released(event)) {
          // Back it comes; nameless, if a wrong trace has given its address away.
          const bool is_free = position_of_.find(old) == position_of_.end();
          const uint32_t position = order_.Add(is_free ? old : 0);
          if (is_free) position_of_[old] = position;
        }
      }
      if (IsAllocation(event.kind)) batch.PutReference(ResultOf(event.address));
    }
  }
  batch.Finish(streams);
}

// ---------------------------------------------------------------------------
// CompactDecoder

absl::Status CompactDecoder::Decode(const PackedEventBatch& batch, std::vector<Event>* events) {
  events->clear();
  if (broken_ || batch.sequence() != batches_) {
    broken_ = true;
    return absl::DataLossError("a compacted trace cannot be read behind a batch that is lost");
  }
  ++batches_;
  const absl::Status status = DecodeStreams(batch, events);
  broken_ = !status.ok();
  return status;
}

absl::Status CompactDecoder::DecodeStreams(const PackedEventBatch& batch, std::vector<Event>* events) {
  const uint32_t count = batch.event_count();
  if (count > kMaxBatchEvents) return absl::DataLossError(absl::StrCat("a batch claims ", count, " events"));
  const bool apart = batch.layout() == kRanksApart;
  if (!apart && batch.layout() != kRanksAmongCalls) {
    return absl::DataLossError(absl::StrCat("a batch of layout ", batch.layout(), ", which this version does not know"));
  }
  events->reserve(count);
  const auto error = [events](absl::string_view what) {
    return absl::DataLossError(absl::StrCat(what, " at event ", events->size() + 1, " of its batch"));
  };

  VarintReader calls(batch.calls());
  VarintReader ranks(batch.references());
  bool bad = false;
  const auto next_reference = [&] { return apart ? ranks.Next() : calls.Next(); };
  const auto referred = [&](uint64_t reference, bool released) -> uint64_t {
    if (reference == kNull) return 0;
    if (reference == kUnknown) return kUnknownAddress;
    const uint64_t rank = reference - kFirstRank;
    if (rank >= order_.size()) return bad = true, 0;
    const uint32_t position = order_.PositionOf(rank);
    const uint64_t address = order_.AddressAt(position);
    if (released) order_.Remove(position);
    return address;
  };
  const auto made = [&] {
    const uint64_t address = kFirstAddress + allocations_++ * kAddressStep;
    order_.Add(address);
    return address;
  };
  const auto result_of = [&](uint64_t result) -> uint64_t {
    if (result == kFailed) return 0;
    if (result == kNew) return made();
    const uint64_t address = referred(result, true);
    if (!bad) order_.Add(address);
    return address;
  };

  uint32_t thread = 0;
  while (!calls.at_end()) {
    const uint64_t word = calls.Next();
    const uint64_t value = word >> kCodeBits;
    const auto code = static_cast<CallCode>(word & ((1 << kCodeBits) - 1));
    if (code != kThreadCode && events->size() == count) return error("more events than the batch claims");
    Event event;
    event.size = value;
    switch (code) {
      case kThreadCode:
        if (value >= kMaxThreads) return error("impossible thread number");
        thread = static_cast<uint32_t>(value);
        continue;
      case kFreeCode:
        event.kind = EventKind::kFree;
        event.size = 0;
        event.address = referred(apart ? ranks.Next() : value, true);
        break;
      case kMallocCode:
        event.address = made();
        break;
      case kFailedMallocCode:
        break;
      case kReallocCode:
        event.kind = EventKind::kRealloc;
        event.old_address = referred(next_reference(), true);
        event.address = made();
        break;
      case kFailedReallocCode:
        event.kind = EventKind::kRealloc;
        event.old_address = referred(next_reference(), Released(event));
        break;
      case kCallocCode:
        event.kind = EventKind::kCalloc;
        event.address = made();
        break;
      case kOtherCode: {
        if (value >= kEventKinds) {
          return absl::DataLossError(absl::StrCat("event ", events->size() + 1, " of its batch is of kind ", value,
                                                  ", which this version does not know"));
        }
        event.kind = static_cast<EventKind>(value);
        event.size = calls.Next();
        if (HasAlignment(event.kind)) event.alignment_log2 = static_cast<uint8_t>(std::min<uint64_t>(calls.Next(), 63));
        if (event.kind == EventKind::kMallopt) event.old_address = calls.Next();
        if (IsPlain(event.kind)) event.address = calls.Next();
        uint64_t reference = kNull;
        if (HasOldBlock(event.kind)) reference = next_reference();
        uint64_t result = kFailed;
        if (IsAllocation(event.kind)) result = next_reference();
        const bool released = event.kind == EventKind::kReallocBegin || result != kFailed || event.size == 0;
        event.old_address = HasOldBlock(event.kind) ? referred(reference, released) : event.old_address;
        if (event.kind == EventKind::kReallocBegin) {
          pending_.Begin(thread, reference >= kFirstRank ? event.old_address : 0);
        } else if (event.kind == EventKind::kReallocEnd) {
          const uint64_t old = pending_.End(thread);
          if (old != 0 && !released) order_.Add(old);
        }
        if (!bad && IsAllocation(event.kind)) event.address = result_of(result);
        break;
      }
    }
    if (bad || calls.bad() || ranks.bad()) return error("damaged call stream");
    event.thread = thread;
    events->push_back(event);
  }
  if (events->size() != count) return error("fewer events than the batch claims");
  if (!ranks.at_end()) return error("references left over");
  return absl::OkStatus();
}

}  // namespace heaptape
