#include "proto/batch_codec.h"

#include <algorithm>
#include <bit>

#include "absl/base/attributes.h"
#include "absl/strings/str_cat.h"

namespace heaptape {
namespace {

// The low three bits of a word of `calls`; the rest is its value.
enum CallCode : uint64_t {
  kFreeCode = 0,       // value: block reference
  kMallocGuessed = 1,  // value: size
  kMallocWritten = 2,  // value: size
  kReallocInPlace = 3, // value: size; then block reference
  kReallocMoved = 4,   // value: size * 2 + guessed; then block reference
  kCallocCode = 5,     // value: size * 2 + guessed
  kOtherCode = 6,      // value: EventKind; then its fields, see Encode
  kThreadCode = 7,     // value: thread of the events that follow; no event itself
};
constexpr int kCodeBits = 3;

constexpr int kMaxAddressShift = 4;

// Sizes from here on use kOtherCode, whose size has a word of its own.
constexpr uint64_t kMaxInlineSize = uint64_t{1} << 59;

// No trace of a real program comes near; a decoder must not allocate for more.
constexpr uint32_t kMaxThreads = 1 << 22;

// What a block of `size` takes from glibc's heap, which is where the next fresh
// one begins. Only a guess, so other allocators lose nothing but bytes.
uint64_t ChunkBytes(uint64_t size) { return std::max<uint64_t>(32, (size + 8 + 15) & ~uint64_t{15}); }

constexpr int kIndexBits = 17;
uint32_t HashOf(uint64_t address) {
  return static_cast<uint32_t>((address * 0x9E3779B97F4A7C15u) >> (64 - kIndexBits));
}

}  // namespace

// ---------------------------------------------------------------------------
// BatchModel

BatchModel::BatchModel() : block_addresses_(kMaxBatchEvents), block_classes_(kMaxBatchEvents) { Reset(); }

void BatchModel::Reset() {
  allocations_ = 0;
  last_free = 0;
  ++generation_;
  SetThread(0);
}

void BatchModel::SetThread(uint32_t thread) {
  if (thread >= lanes_.size()) lanes_.resize(thread + 1);
  if (lanes_[thread] == nullptr) lanes_[thread] = std::make_unique<Lane>();
  lane_ = lanes_[thread].get();
  if (lane_->generation != generation_) {
    lane_->generation = generation_;
    lane_->fresh = 0;
    lane_->count.fill(0);
    lane_->top.fill(0);
  }
}

ABSL_ATTRIBUTE_ALWAYS_INLINE inline uint32_t BatchModel::ClassOf(uint64_t size) {
  const uint64_t chunk = ChunkBytes(size);
  if (chunk <= 1040) return static_cast<uint32_t>(chunk / 16 - 2);  // 0 .. 63, as the thread cache
  // Above that two classes an octave are enough to tell kinds of buffers apart.
  const int log = std::bit_width(chunk);
  return std::min<uint32_t>(kClasses - 1, 64 + (log - 11) * 2 + (chunk >> (log - 2) & 1));
}

ABSL_ATTRIBUTE_ALWAYS_INLINE inline uint64_t BatchModel::Predict(uint64_t size) const {
  const uint32_t size_class = ClassOf(size);
  if (lane_->count[size_class] == 0) return lane_->fresh;
  return lane_->freed[size_class][lane_->top[size_class]];
}

ABSL_ATTRIBUTE_ALWAYS_INLINE inline uint32_t BatchModel::Allocate(uint64_t address, uint64_t size) {
  const uint32_t size_class = ClassOf(size);
  if (lane_->count[size_class] > 0) {
    uint8_t& top = lane_->top[size_class];
    if (lane_->freed[size_class][top] == address) {
      top = (top + kDepth - 1) % kDepth;
      --lane_->count[size_class];
    }
  }
  lane_->fresh = address + ChunkBytes(size);
  block_addresses_[allocations_] = address;
  block_classes_[allocations_] = static_cast<uint8_t>(size_class);
  return allocations_++;
}

ABSL_ATTRIBUTE_ALWAYS_INLINE inline void BatchModel::Release(uint32_t index) {
  const uint32_t size_class = block_classes_[index];
  uint8_t& top = lane_->top[size_class];
  uint8_t& count = lane_->count[size_class];
  top = (top + 1) % kDepth;
  lane_->freed[size_class][top] = block_addresses_[index];
  if (count < kDepth) ++count;
  block_addresses_[index] = 0;
}

// ---------------------------------------------------------------------------
// BatchEncoder

BatchEncoder::BatchEncoder() : index_of_(size_t{1} << kIndexBits) {}

uint32_t BatchEncoder::Find(uint64_t address) const {
  const uint32_t index = index_of_[HashOf(address)];
  // Entries outlive their batch; the block list says whether one still holds.
  if (address != 0 && index < model_.allocations() && model_.AddressOf(index) == address) return index;
  return BatchModel::kNoAllocation;
}

void BatchEncoder::Remember(uint64_t address, uint32_t index) { index_of_[HashOf(address)] = static_cast<uint16_t>(index); }

ABSL_ATTRIBUTE_ALWAYS_INLINE inline void BatchEncoder::WriteAddress(uint64_t address, uint64_t base) {
  addresses_.Put(ZigZag(static_cast<int64_t>(address - base) >> shift_));
}

ABSL_ATTRIBUTE_ALWAYS_INLINE inline uint64_t BatchEncoder::ReferTo(uint64_t address) {
  const uint32_t index = Find(address);
  if (index == BatchModel::kNoAllocation) {
    WriteAddress(address, model_.last_free);
    model_.last_free = address;
    return 0;
  }
  model_.Release(index);
  return model_.allocations() - index;
}

void BatchEncoder::Encode(absl::Span<const Event> events, PackedEventBatch* batch) {
  uint64_t all_addresses = uint64_t{1} << kMaxAddressShift;
  for (const Event& event : events) {
    if (event.kind == EventKind::kMallopt || event.kind == EventKind::kMallocTrim) continue;
    all_addresses |= event.address | event.old_address;
  }
  shift_ = std::countr_zero(all_addresses);

  model_.Reset();
  // At most a thread and four words a call, and two addresses.
  VarintWriter calls(&calls_column_, events.size() * 5);
  addresses_ = VarintWriter(&addresses_column_, events.size() * 2);
  batch->set_event_count(static_cast<uint32_t>(events.size()));
  batch->set_address_shift(shift_);

  const auto put = [&calls](CallCode code, uint64_t value) { calls.Put(value << kCodeBits | code); };
  // Tells whether the address of an allocation was guessed; writes it if not.
  const auto guessed = [this](const Event& event) {
    if (model_.Predict(event.size) == event.address) return uint64_t{1};
    WriteAddress(event.address, model_.Fresh());
    return uint64_t{0};
  };
  const auto allocate = [this](const Event& event) {
    if (event.address != 0) Remember(event.address, model_.Allocate(event.address, event.size));
  };

  uint32_t thread = 0;
  for (const Event& event : events) {
    if (event.thread != thread) {
      thread = event.thread;
      model_.SetThread(thread);
      put(kThreadCode, thread);
    }
    const bool small = event.size < kMaxInlineSize;
    if (event.kind == EventKind::kFree) {
      put(kFreeCode, ReferTo(event.address));
    } else if (event.kind == EventKind::kMalloc && small) {
      put(guessed(event) ? kMallocGuessed : kMallocWritten, event.size);
      allocate(event);
    } else if (event.kind == EventKind::kCalloc && small) {
      put(kCallocCode, event.size * 2 + guessed(event));
      allocate(event);
    } else if (event.kind == EventKind::kRealloc && small && event.old_address != 0) {
      if (event.address == event.old_address) {
        put(kReallocInPlace, event.size);
      } else {
        put(kReallocMoved, event.size * 2 + guessed(event));
      }
      calls.Put(ReferTo(event.old_address));
      allocate(event);
    } else {
      put(kOtherCode, static_cast<uint64_t>(event.kind));
      calls.Put(event.size);
      if (HasAlignment(event.kind)) calls.Put(event.alignment_log2);
      if (event.kind == EventKind::kRealloc || event.kind == EventKind::kReallocBegin ||
          event.kind == EventKind::kMallopt) {
        calls.Put(event.old_address);
      }
      if (event.kind == EventKind::kMallopt || event.kind == EventKind::kMallocTrim) {
        calls.Put(event.address);
      } else if (IsAllocation(event.kind)) {
        WriteAddress(event.address, model_.Fresh());
        allocate(event);
      }
    }
  }
  batch->set_calls(calls.written().data(), calls.written().size());
  batch->set_addresses(addresses_.written().data(), addresses_.written().size());
}

// ---------------------------------------------------------------------------
// BatchDecoder

absl::Status BatchDecoder::Decode(const PackedEventBatch& batch, std::vector<Event>* events) {
  events->clear();
  const uint32_t count = batch.event_count();
  if (count > kMaxBatchEvents) return absl::DataLossError(absl::StrCat("a batch claims ", count, " events"));
  if (batch.address_shift() > kMaxAddressShift) return absl::DataLossError("address_shift out of range");
  const int shift = static_cast<int>(batch.address_shift());
  events->reserve(count);
  model_.Reset();

  const auto error = [events](absl::string_view what) {
    return absl::DataLossError(absl::StrCat(what, " at event ", events->size() + 1, " of its batch"));
  };

  VarintReader calls(batch.calls());
  VarintReader addresses(batch.addresses());
  bool bad = false;
  const auto next_address = [&](uint64_t base) -> uint64_t {
    return base + (static_cast<uint64_t>(UnZigZag(addresses.Next())) << shift);
  };
  const auto referred = [&](uint64_t reference) -> uint64_t {
    if (reference == 0) return model_.last_free = next_address(model_.last_free);
    if (reference > model_.allocations()) return bad = true, 0;
    const uint32_t index = model_.allocations() - static_cast<uint32_t>(reference);
    const uint64_t result = model_.AddressOf(index);
    if (result == 0) return bad = true, 0;
    model_.Release(index);
    return result;
  };
  const auto allocated = [&](const Event& event) {
    if (event.address != 0) model_.Allocate(event.address, event.size);
  };

  uint32_t thread = 0;
  while (!calls.at_end()) {
    const uint64_t word = calls.Next();
    const uint64_t value = word >> kCodeBits;
    const auto code = static_cast<CallCode>(word & ((1 << kCodeBits) - 1));
    if (code != kThreadCode && events->size() == count) return error("more events than the batch claims");
    Event event;
    switch (code) {
      case kThreadCode:
        if (value >= kMaxThreads) return error("impossible thread number");
        thread = static_cast<uint32_t>(value);
        model_.SetThread(thread);
        continue;
      case kFreeCode:
        event.kind = EventKind::kFree;
        event.address = referred(value);
        break;
      case kMallocGuessed:
        event.size = value;
        event.address = model_.Predict(value);
        allocated(event);
        break;
      case kMallocWritten:
        event.size = value;
        event.address = next_address(model_.Fresh());
        allocated(event);
        break;
      case kReallocInPlace:
        event.kind = EventKind::kRealloc;
        event.size = value;
        event.address = event.old_address = referred(calls.Next());
        allocated(event);
        break;
      case kReallocMoved:
        event.kind = EventKind::kRealloc;
        event.size = value >> 1;
        // The new address is taken before the old block is given back.
        event.address = value & 1 ? model_.Predict(event.size) : next_address(model_.Fresh());
        event.old_address = referred(calls.Next());
        allocated(event);
        break;
      case kCallocCode:
        event.kind = EventKind::kCalloc;
        event.size = value >> 1;
        event.address = value & 1 ? model_.Predict(event.size) : next_address(model_.Fresh());
        allocated(event);
        break;
      case kOtherCode: {
        if (value >= kEventKinds) {
          return absl::DataLossError(absl::StrCat("event ", events->size() + 1, " of its batch is of kind ", value,
                                                  ", which this version does not know"));
        }
        event.kind = static_cast<EventKind>(value);
        event.size = calls.Next();
        if (HasAlignment(event.kind)) event.alignment_log2 = static_cast<uint8_t>(std::min<uint64_t>(calls.Next(), 63));
        if (event.kind == EventKind::kRealloc || event.kind == EventKind::kReallocBegin ||
            event.kind == EventKind::kMallopt) {
          event.old_address = calls.Next();
        }
        if (event.kind == EventKind::kMallopt || event.kind == EventKind::kMallocTrim) {
          event.address = calls.Next();
        } else if (IsAllocation(event.kind)) {
          event.address = next_address(model_.Fresh());
          // A free is never written this way, so the block list stays in step.
          allocated(event);
        }
        break;
      }
    }
    if (bad || calls.bad() || addresses.bad()) return error("damaged call stream");
    event.thread = thread;
    events->push_back(event);
  }
  if (events->size() != count) return error("fewer events than the batch claims");
  if (!addresses.at_end()) return error("addresses left over");
  return absl::OkStatus();
}

}  // namespace heaptape
