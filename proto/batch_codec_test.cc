#include "proto/batch_codec.h"

#include <random>
#include <string>
#include <vector>

#include "gtest/gtest.h"
#include "proto/random_events.h"
#include "proto/trace.pb.h"

namespace heaptape {
namespace {

std::vector<Event> RoundTrip(const std::vector<Event>& events) {
  BatchEncoder encoder;
  PackedEventBatch batch;
  encoder.Encode(events, &batch);
  PackedEventBatch copy;
  EXPECT_TRUE(copy.ParseFromString(batch.SerializeAsString()));
  BatchDecoder decoder;
  std::vector<Event> decoded;
  const absl::Status status = decoder.Decode(copy, &decoded);
  EXPECT_TRUE(status.ok()) << status;
  return decoded;
}

// The same bytes on the wire, as other readers see them.
EventBatch Unpack(const PackedEventBatch& packed) {
  EventBatch batch;
  EXPECT_TRUE(batch.ParseFromString(packed.SerializeAsString()));
  return batch;
}
PackedEventBatch Pack(const EventBatch& batch) {
  PackedEventBatch packed;
  EXPECT_TRUE(packed.ParseFromString(batch.SerializeAsString()));
  return packed;
}

Event Make(EventKind kind, uint64_t address, uint64_t size, uint64_t old_address = 0, uint32_t thread = 0,
           uint8_t alignment_log2 = 0) {
  return {address, old_address, size, thread, kind, alignment_log2};
}

TEST(BatchCodecTest, EveryKindComesBack) {
  const std::vector<Event> events = {
      Make(EventKind::kThreadStart, 0, 4711),
      Make(EventKind::kMalloc, 0x1010, 100),
      Make(EventKind::kCalloc, 0x2020, 200),
      Make(EventKind::kRealloc, 0x3030, 300, 0x1010),
      Make(EventKind::kRealloc, 0x3030, 310, 0x3030),
      Make(EventKind::kRealloc, 0x4040, 64),
      Make(EventKind::kThreadStart, 0, 4712, 0, 7),
      Make(EventKind::kReallocBegin, 0, 0, 0x3030, 7),
      Make(EventKind::kReallocEnd, 0x5050, 500, 0, 7),
      Make(EventKind::kMemalign, 0x8000, 10, 0, 7, 12),
      Make(EventKind::kAlignedAlloc, 0x9000, 11, 0, 7, 6),
      Make(EventKind::kPosixMemalign, 0xa000, 12, 0, 7, 8),
      Make(EventKind::kValloc, 0xb000, 13, 0, 7, 12),
      Make(EventKind::kPvalloc, 0xc000, 14, 0, 7, 12),
      Make(EventKind::kMallopt, 1, static_cast<uint64_t>(-3), 65536, 7),
      Make(EventKind::kMallocTrim, 1, 0, 0, 7),
      Make(EventKind::kFree, 0x8000, 0, 0, 0),
      Make(EventKind::kFree, 0x77770, 0, 0, 0),  // never seen before
      Make(EventKind::kThreadEnd, 0, 0, 0, 7),
  };
  EXPECT_EQ(RoundTrip(events), events);
}

TEST(BatchCodecTest, ExtremeValuesComeBack) {
  const std::vector<Event> events = {
      Make(EventKind::kMalloc, 0, ~uint64_t{0}),                   // failed
      Make(EventKind::kMalloc, 0, uint64_t{1} << 59),
      Make(EventKind::kCalloc, 0, (uint64_t{1} << 59) - 1),
      Make(EventKind::kMalloc, 0x7fff'ffff'fff0, 1),
      Make(EventKind::kRealloc, 0, uint64_t{1} << 62, 0x7fff'ffff'fff0),
      Make(EventKind::kRealloc, 0, 0, 0x7fff'ffff'fff0),           // realloc(p, 0) frees
      Make(EventKind::kMalloc, 4, 0),                              // odd alignment of an import
      Make(EventKind::kFree, 4, 0),
      Make(EventKind::kFree, 0, 0),
  };
  EXPECT_EQ(RoundTrip(events), events);
}

TEST(BatchCodecTest, RandomMixturesComeBackAndAreSmall) {
  for (uint64_t seed = 1; seed <= 30; ++seed) {
    RandomEventsOptions options;
    options.seed = seed;
    options.count = seed % 3 == 0 ? kMaxBatchEvents : 5000;
    options.threads = 1 + static_cast<uint32_t>(seed % 5);
    options.live_target = seed % 2 == 0 ? 20 : 20000;
    const std::vector<Event> events = RandomEvents(options);
    EXPECT_EQ(RoundTrip(events), events) << seed;
  }
}

TEST(BatchCodecTest, OneEncoderMayBeUsedAgain) {
  BatchEncoder encoder;
  BatchDecoder decoder;
  for (uint64_t seed = 1; seed <= 5; ++seed) {
    RandomEventsOptions options;
    options.seed = seed;
    options.threads = static_cast<uint32_t>(seed);
    const std::vector<Event> events = RandomEvents(options);
    PackedEventBatch batch;
    encoder.Encode(events, &batch);
    std::vector<Event> decoded;
    ASSERT_TRUE(decoder.Decode(batch, &decoded).ok());
    EXPECT_EQ(decoded, events);
  }
}

// A thread cache that works is almost free to record: the age of the last block
// is a byte, and reuse is guessed.
TEST(BatchCodecTest, TemporariesNeedNoAddresses) {
  std::vector<Event> events;
  for (int i = 0; i < 1000; ++i) {
    events.push_back(Make(EventKind::kMalloc, 0x1000, 40));
    events.push_back(Make(EventKind::kFree, 0x1000, 0));
  }
  BatchEncoder encoder;
  PackedEventBatch batch;
  encoder.Encode(events, &batch);
  EXPECT_EQ(Unpack(batch).addresses_size(), 1);
  EXPECT_EQ(Unpack(batch).calls_size(), 2000);
}

// FORMAT.md explains these words one by one.
TEST(BatchCodecTest, TheExampleOfTheFormatPage) {
  BatchEncoder encoder;
  PackedEventBatch packed;
  encoder.Encode(
      std::vector<Event>{
          Make(EventKind::kThreadStart, 0, 7),
          Make(EventKind::kMalloc, 0x1010, 100),
          Make(EventKind::kMalloc, 0x1080, 100),
          Make(EventKind::kThreadStart, 0, 8, 0, 1),
          Make(EventKind::kFree, 0x1010, 0, 0, 1),
          Make(EventKind::kMalloc, 0x1200, 24),
          Make(EventKind::kMalloc, 0x1010, 100, 0, 1),
          Make(EventKind::kFree, 0x1080, 0),
          Make(EventKind::kCalloc, 0x1080, 100),
          Make(EventKind::kRealloc, 0x1080, 104, 0x1080),
          Make(EventKind::kRealloc, 0x1300, 300, 0x1080),
          Make(EventKind::kMemalign, 0x1500, 40, 0, 0, 6),
      },
      &packed);
  const EventBatch batch = Unpack(packed);
  EXPECT_EQ(std::vector<uint64_t>(batch.calls().begin(), batch.calls().end()),
            (std::vector<uint64_t>{94, 7, 802, 801, 15, 94, 8, 16, 7, 194, 15, 801, 7, 24, 1613, 835, 1, 4804, 1, 54, 40, 6}));
  EXPECT_EQ(std::vector<int64_t>(batch.addresses().begin(), batch.addresses().end()),
            (std::vector<int64_t>{257, 17, 33, 12}));
  EXPECT_EQ(batch.address_shift(), 4u);
}

TEST(BatchCodecTest, KindOfANewerVersionSaysSo) {
  EventBatch batch;
  batch.set_event_count(1);
  batch.add_calls(uint64_t{200} << 3 | 6);
  BatchDecoder decoder;
  std::vector<Event> events;
  const absl::Status status = decoder.Decode(Pack(batch), &events);
  EXPECT_EQ(status.code(), absl::StatusCode::kDataLoss);
  EXPECT_NE(status.message().find("kind 200"), std::string::npos) << status;
}

// Any change of any word gives events or an error, never a crash or a hang.
TEST(BatchCodecTest, DamagedStreamsAreRefusedOrDecoded) {
  RandomEventsOptions options;
  options.count = 400;
  BatchEncoder encoder;
  PackedEventBatch batch;
  encoder.Encode(RandomEvents(options), &batch);
  std::mt19937_64 random(5);
  BatchDecoder decoder;
  std::vector<Event> events;
  int refused = 0;
  for (int i = 0; i < 3000; ++i) {
    EventBatch damaged = Unpack(batch);
    const int at = static_cast<int>(random() % damaged.calls_size());
    damaged.set_calls(at, random() >> (random() % 64));
    if (i % 3 == 0) damaged.mutable_calls()->Truncate(at);
    if (i % 5 == 0) damaged.mutable_addresses()->Truncate(damaged.addresses_size() / 2);
    if (i % 7 == 0) damaged.set_event_count(static_cast<uint32_t>(random()));
    refused += decoder.Decode(Pack(damaged), &events).ok() ? 0 : 1;
  }
  EXPECT_GT(refused, 1000);
}

TEST(BatchCodecTest, TruncatedColumnsAreRefused) {
  RandomEventsOptions options;
  options.count = 100;
  BatchEncoder encoder;
  PackedEventBatch batch;
  encoder.Encode(RandomEvents(options), &batch);
  BatchDecoder decoder;
  std::vector<Event> events;
  for (size_t size = 0; size < batch.calls().size(); ++size) {
    PackedEventBatch cut = batch;
    cut.mutable_calls()->resize(size);
    EXPECT_FALSE(decoder.Decode(cut, &events).ok()) << size;
  }
  batch.mutable_addresses()->append(11, '\xff');
  EXPECT_FALSE(decoder.Decode(batch, &events).ok());
}

}  // namespace
}  // namespace heaptape
