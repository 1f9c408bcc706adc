// Compacted traces: the same blocks, under other names.

#include <unistd.h>

#include <map>
#include <string>
#include <vector>

#include "gtest/gtest.h"
#include "proto/compact_writer.h"
#include "proto/random_events.h"
#include "proto/trace_reader.h"

namespace heaptape {
namespace {

std::string PathOf(const std::string& name) {
  const std::string path = testing::TempDir() + "/" + name + ".heaptape";
  unlink(path.c_str());
  return path;
}

void Write(const std::string& path, const std::vector<Event>& events, size_t batch) {
  auto writer = CompactWriter::Create(path, Header());
  ASSERT_TRUE(writer.ok()) << writer.status();
  for (size_t i = 0; i < events.size(); i += batch) {
    const absl::Span<const Event> all(events);
    ASSERT_TRUE((*writer)->Append(i + 1, all.subspan(i, batch)).ok());
  }
  Footer footer;
  footer.set_events(events.size());
  ASSERT_TRUE((*writer)->Close(&footer).ok());
}

std::vector<Event> Read(const std::string& path, TraceHealth* health = nullptr) {
  auto reader = TraceReader::Open(path);
  EXPECT_TRUE(reader.ok()) << reader.status();
  std::vector<Event> all, events;
  while (reader.ok() && *(*reader)->Next(&events)) all.insert(all.end(), events.begin(), events.end());
  if (health != nullptr) {
    *health = (*reader)->health();
  } else {
    EXPECT_TRUE((*reader)->health().complete);
  }
  return all;
}

std::vector<Event> ThroughAFile(const std::vector<Event>& events, size_t batch = kMaxBatchEvents) {
  const std::string path = PathOf("compact");
  Write(path, events, batch);
  return Read(path);
}

// Whether `b` is `a` under other addresses: block by block the same.
void ExpectSameBlocks(const std::vector<Event>& a, const std::vector<Event>& b) {
  ASSERT_EQ(a.size(), b.size());
  std::map<uint64_t, uint64_t> name_of;  // of live blocks
  for (size_t i = 0; i < a.size(); ++i) {
    SCOPED_TRACE(i);
    ASSERT_EQ(a[i].kind, b[i].kind);
    ASSERT_EQ(a[i].thread, b[i].thread);
    ASSERT_EQ(a[i].size, b[i].size);
    ASSERT_EQ(a[i].alignment_log2, b[i].alignment_log2);
    ASSERT_EQ(a[i].address == 0, b[i].address == 0);
    if (a[i].kind == EventKind::kFree && a[i].address != 0) {
      const auto block = name_of.find(a[i].address);
      if (block == name_of.end()) continue;  // from before the trace
      ASSERT_EQ(block->second, b[i].address);
      name_of.erase(block);
      continue;
    }
    if (a[i].kind == EventKind::kRealloc || a[i].kind == EventKind::kReallocBegin) {
      ASSERT_EQ(a[i].old_address == 0, b[i].old_address == 0);
      const auto block = name_of.find(a[i].old_address);
      if (block != name_of.end()) {
        ASSERT_EQ(block->second, b[i].old_address);
        if (a[i].kind == EventKind::kReallocBegin || a[i].address != 0 || a[i].size == 0) name_of.erase(block);
      }
    }
    if (a[i].address == 0 || a[i].kind == EventKind::kMallopt || a[i].kind == EventKind::kMallocTrim) continue;
    name_of[a[i].address] = b[i].address;
  }
}

TEST(CompactTrace, EveryKindOfEvent) {
  for (uint64_t seed = 1; seed <= 8; ++seed) {
    RandomEventsOptions options;
    options.seed = seed;
    options.count = 30000;
    options.live_target = seed % 2 == 0 ? 20 : 3000;
    const std::vector<Event> events = RandomEvents(options);
    ExpectSameBlocks(events, ThroughAFile(events, seed % 3 == 0 ? 100 : kMaxBatchEvents));
  }
}

TEST(CompactTrace, WhatDoesNotHappen) {
  const std::vector<Event> events = {
      {.address = 0x1000, .kind = EventKind::kFree},  // never allocated
      {.address = 0, .kind = EventKind::kFree},
      {.address = 0, .size = 77},
      {.address = 0, .size = uint64_t{1} << 62},
      {.address = 0x1000, .size = uint64_t{1} << 60},
      {.address = 0x2000, .size = 10},
      {.address = 0, .old_address = 0x2000, .size = 99, .kind = EventKind::kRealloc},  // failed: it lives on
      {.address = 0, .old_address = 0x2000, .size = 0, .kind = EventKind::kRealloc},   // freed
      {.address = 0x2000, .size = 11, .kind = EventKind::kRealloc},
      {.old_address = 0x2000, .thread = 1, .kind = EventKind::kReallocBegin},
      {.address = 0, .size = 500, .thread = 1, .kind = EventKind::kReallocEnd},  // failed: back it comes
      {.address = 0x2000, .kind = EventKind::kFree},
      {.address = 0x3000, .old_address = 0x9990, .size = 5, .kind = EventKind::kRealloc},
      {.address = 1, .old_address = 8, .size = static_cast<uint64_t>(-3), .kind = EventKind::kMallopt},
      {.address = 1, .size = 64, .kind = EventKind::kMallocTrim},
      {.address = 0x1000, .kind = EventKind::kFree},
  };
  const std::vector<Event> read = ThroughAFile(events);
  ASSERT_EQ(read.size(), events.size());
  EXPECT_EQ(read[6].old_address, read[5].address);
  EXPECT_EQ(read[7].old_address, read[5].address);
  EXPECT_EQ(read[9].old_address, read[8].address);
  EXPECT_EQ(read[11].address, read[8].address);
  EXPECT_EQ(read[13], events[13]);
  EXPECT_EQ(read[14], events[14]);
  EXPECT_EQ(read[15].address, read[4].address);
}

// A wrong trace stays just as wrong, so that a replay of it stays the same.
TEST(CompactTrace, AnAddressThatIsHandedOutWhileLive) {
  const std::vector<Event> events = {{.address = 0x1000, .size = 1},
                                     {.address = 0x2000, .size = 2},
                                     {.address = 0x1000, .size = 3},
                                     {.address = 0x2000, .size = 4, .kind = EventKind::kCalloc},
                                     {.address = 0x1000, .kind = EventKind::kFree}};
  const std::vector<Event> read = ThroughAFile(events);
  ASSERT_EQ(read.size(), events.size());
  EXPECT_EQ(read[2].address, read[0].address);
  EXPECT_EQ(read[3].address, read[1].address);
  EXPECT_EQ(read[4].address, read[0].address);
}

TEST(CompactTrace, NothingIsReadBehindALostBatch) {
  RandomEventsOptions options;
  options.count = 5000;
  const std::vector<Event> events = RandomEvents(options);
  CompactEncoder encoder;
  CompactEncoder::Streams streams;
  std::vector<Event> decoded;
  CompactDecoder decoder;
  for (uint64_t number = 0; number < 5; ++number) {
    encoder.Encode(absl::Span<const Event>(events).subspan(number * 1000, 1000), &streams);
    PackedEventBatch batch;
    batch.set_event_count(1000);
    batch.set_layout(kRanksApart);
    batch.set_sequence(number);
    batch.set_calls(streams.calls);
    batch.set_references(streams.ranks);
    if (number == 2) continue;
    EXPECT_EQ(decoder.Decode(batch, &decoded).ok(), number < 2);
  }
}

TEST(CompactTrace, SmallerWhereAProgramRepeatsItself) {
  std::vector<Event> events;
  for (uint64_t i = 0; i < 200000; ++i) {
    events.push_back({.address = 0x10000 + i * 48, .size = 24 + i % 5});
    if (i >= 100) events.push_back({.address = 0x10000 + (i - 100) * 48, .kind = EventKind::kFree});
  }
  const std::string path = PathOf("small");
  Write(path, events, kMaxBatchEvents);
  auto reader = TraceReader::Open(path);
  ASSERT_TRUE(reader.ok());
  EXPECT_LT((*reader)->file_bytes(), events.size() / 50);
  EXPECT_TRUE((*reader)->header().compacted());
}

}  // namespace
}  // namespace heaptape
