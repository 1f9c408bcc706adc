// BatchEncoder, BatchDecoder: events to and from the two streams of an
// EventBatch. FORMAT.md gives the grammar; this is what stands behind it.
//
// Real programs repeat themselves, so calls go into one stream in call order,
// a varint or two each, where zstd finds the repetition. Addresses repeat far
// less and go into a stream of their own, and only where they cannot be told
// from what the batch has shown so far:
//
//  - A free names its block by *age*: how many allocations ago it was made.
//  - An allocation is guessed to reuse the block of its size that its thread
//    freed last (what a thread cache does), else to stand directly behind the
//    thread's previous one (what a fresh heap does).
//
// Both look at nothing before the batch, so every batch decodes alone. The
// encoder finds an age through a lossy hash table; a miss costs bytes, never
// correctness, because the decoder only follows what was written.
//
// Mainland. One thread at a time. State is about 1 MiB plus 9 KiB a thread.

#ifndef HEAPTAPE_PROTO_BATCH_CODEC_H_
#define HEAPTAPE_PROTO_BATCH_CODEC_H_

#include <array>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/types/span.h"
#include "proto/event.h"
#include "proto/packed_record.pb.h"
#include "proto/varint.h"

namespace heaptape {

// Most events of one batch.
inline constexpr uint32_t kMaxBatchEvents = 64 << 10;

// What encoder and decoder both know after the same events of one batch.
class BatchModel {
 public:
  static constexpr uint32_t kNoAllocation = ~uint32_t{0};

  BatchModel();

  void Reset();
  void SetThread(uint32_t thread);

  // The address that an allocation of `size` by the current thread is expected
  // to get; and where it would stand if it were fresh (differences are counted
  // from there).
  uint64_t Predict(uint64_t size) const;
  uint64_t Fresh() const { return lane_->fresh; }

  // A block was handed out, or given back. `index` is what Allocate returned.
  uint32_t Allocate(uint64_t address, uint64_t size);
  void Release(uint32_t index);

  uint32_t allocations() const { return allocations_; }
  // 0 once the block has been released.
  uint64_t AddressOf(uint32_t index) const { return block_addresses_[index]; }

  // The last address of a free that had to be written out.
  uint64_t last_free = 0;

 private:
  static constexpr int kClasses = 96;
  static constexpr int kDepth = 8;  // glibc's thread cache holds 7 of a size

  struct Lane {
    uint32_t generation = 0;  // reset lazily: most batches use few lanes
    uint64_t fresh = 0;
    std::array<uint8_t, kClasses> count;
    std::array<uint8_t, kClasses> top;
    std::array<std::array<uint64_t, kDepth>, kClasses> freed;
  };

  static uint32_t ClassOf(uint64_t size);

  // Blocks by index, apart so that both stay in the second-level cache.
  std::vector<uint64_t> block_addresses_;
  std::vector<uint8_t> block_classes_;
  uint32_t allocations_ = 0;
  uint32_t generation_ = 0;
  std::vector<std::unique_ptr<Lane>> lanes_;
  Lane* lane_ = nullptr;
};

class BatchEncoder {
 public:
  BatchEncoder();

  // Fills calls, addresses, address_shift and event_count of *batch, clearing
  // them first. `events` holds at most kMaxBatchEvents.
  void Encode(absl::Span<const Event> events, PackedEventBatch* batch);

 private:
  uint32_t Find(uint64_t address) const;
  void Remember(uint64_t address, uint32_t index);
  // Writes a block's age plus one, or 0 and its address. Releases the block.
  uint64_t ReferTo(uint64_t address);
  void WriteAddress(uint64_t address, uint64_t base);

  BatchModel model_;
  std::vector<uint16_t> index_of_;  // by hash of an address; verified on use
  int shift_ = 0;
  std::string calls_column_, addresses_column_;
  VarintWriter addresses_;
};

class BatchDecoder {
 public:
  // Replaces *events. DataLoss, naming the event within the batch, when the
  // streams do not make sense; kinds of a newer version say so.
  absl::Status Decode(const PackedEventBatch& batch, std::vector<Event>* events);

 private:
  BatchModel model_;
};

}  // namespace heaptape

#endif  // HEAPTAPE_PROTO_BATCH_CODEC_H_
