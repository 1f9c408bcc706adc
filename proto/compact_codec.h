// CompactEncoder, CompactDecoder: events to and from the batches of a compacted
// trace, which name blocks by rank among the live ones and know no addresses.
// FORMAT.md gives the grammar.
//
// A program that repeats itself frees the same ranks again and again, where its
// addresses wander; so these streams are a fraction of those of batch_codec.h.
// The price: a batch can only be decoded behind all batches before it.
//
// Mainland. One thread at a time. Memory grows with live blocks.

#ifndef HEAPTAPE_PROTO_COMPACT_CODEC_H_
#define HEAPTAPE_PROTO_COMPACT_CODEC_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/status/status.h"
#include "absl/types/span.h"
#include "proto/event.h"
#include "proto/live_order.h"
#include "proto/packed_record.pb.h"

namespace heaptape {

// EventBatch.layout.
enum CompactLayout : uint32_t {
  kRanksAmongCalls = 1,  // shortest where a program repeats itself
  kRanksApart = 2,       // shortest where sizes and ranks are random
};

// Blocks whose realloc has begun and not ended, by thread; the last is the innermost.
class PendingReallocs {
 public:
  void Begin(uint32_t thread, uint64_t address) { pending_[thread].push_back(address); }
  // The block that went in; 0 if none is pending, or it was not known.
  uint64_t End(uint32_t thread);

 private:
  absl::flat_hash_map<uint32_t, std::vector<uint64_t>> pending_;
};

class CompactEncoder {
 public:
  struct Streams {
    std::string calls_with_ranks;  // kRanksAmongCalls
    std::string calls, ranks;      // kRanksApart
  };

  CompactEncoder();

  // The streams of the next batch, in both layouts. All events must come, in order.
  void Encode(absl::Span<const Event> events, Streams* streams);

 private:
  class Batch;

  // Names a block and, if it is `released`, takes it out.
  uint64_t ReferTo(uint64_t address, bool released);
  // Names the result of an allocation, and notes it.
  uint64_t ResultOf(uint64_t address);

  LiveOrder order_;
  absl::flat_hash_map<uint64_t, uint32_t> position_of_;  // by address
  PendingReallocs pending_;
};

class CompactDecoder {
 public:
  // Replaces *events. Addresses are made up: 16 times a number of the allocation,
  // no two alike. DataLoss when the streams do not make sense, or when a batch
  // before this one is missing, and for every later batch.
  absl::Status Decode(const PackedEventBatch& batch, std::vector<Event>* events);

 private:
  absl::Status DecodeStreams(const PackedEventBatch& batch, std::vector<Event>* events);

  LiveOrder order_;
  PendingReallocs pending_;
  uint64_t batches_ = 0;
  uint64_t allocations_ = 0;
  bool broken_ = false;
};

}  // namespace heaptape

#endif  // HEAPTAPE_PROTO_COMPACT_CODEC_H_
