// Placement agreement: blocks where the recording had them.

#include <cstdint>
#include <map>
#include <vector>

#include "gtest/gtest.h"
#include "replayer/driver/replayer.h"
#include "replayer/driver/toy_program.h"
#include "replayer/driver/toy_replay.h"

namespace heaptape {
namespace {

// The program as if it had been recorded: its blocks, none of which is freed,
// where a replay puts them, and each arena somewhere else altogether.
std::vector<Event> Recorded(const ToyProgram& program) {
  const ReplayResult result = Replayed(program);
  std::vector<Event> events = program.events();
  for (const LiveBlock& block : result.blocks) {
    Event& event = events[block.event - 1];
    event.address = block.address + (uint64_t{event.thread} + 1) * (uint64_t{1} << 33);
  }
  return events;
}

PlacementCounts Compare(const std::vector<Event>& events, const ReplaySettings& settings = {}) {
  auto replayer = Replayer::Create(EventsInMemory(MachineOf(8), events), {.placement = true});
  EXPECT_TRUE(replayer.ok());
  const auto result = (*replayer)->Run(settings);
  EXPECT_TRUE(result.ok()) << result.status();
  EXPECT_TRUE(result.ok() && result->placement.has_value());
  return result.ok() && result->placement.has_value() ? *result->placement : PlacementCounts();
}

ToyProgram SomeProgram() {
  ToyProgram program;
  for (int i = 0; i < 6000; ++i) {
    program.Thread(i % 7 % 4).Malloc(i * 37 % 3000);
    if (i % 10 == 0) program.Calloc(i);
    if (i % 11 == 0) program.Memalign(8, i);
    if (i % 500 == 0) program.Malloc(1 << 20);
  }
  return program;
}

TEST(Placement, TheSameHeapAgreesWholly) {
  const std::vector<Event> events = Recorded(SomeProgram());
  const PlacementCounts counts = Compare(events);
  EXPECT_EQ(counts.compared, events.size());
  EXPECT_EQ(counts.equal, events.size());
  EXPECT_EQ(counts.first_event, 0u);
}

TEST(Placement, TheFirstThatDiffersIsNamed) {
  std::vector<Event> events = Recorded(SomeProgram());
  events[3000].address += 16;
  events[4000].address += 1 << 20;
  const PlacementCounts counts = Compare(events);
  EXPECT_EQ(counts.equal, events.size() - 2);
  EXPECT_EQ(counts.first_event, 3001u);
  EXPECT_EQ(counts.first_recorded, events[3000].address);
  EXPECT_EQ(counts.first_replayed, events[3000].address - 16);
}

TEST(Placement, AnotherSettingIsAnotherHeap) {
  const std::vector<Event> events = Recorded(SomeProgram());
  const PlacementCounts counts = Compare(events, With("mmap_threshold", "2048"));
  EXPECT_EQ(counts.compared, events.size());
  EXPECT_LT(counts.equal, events.size() / 2);
}

TEST(Placement, ChangesNothingElse) {
  const ToyProgram program = SomeProgram();
  auto replayer =
      Replayer::Create(EventsInMemory(MachineOf(8), program.events()), {.placement = true});
  ASSERT_TRUE(replayer.ok());
  EXPECT_EQ((*replayer)->Run({})->digest, Replayed(program).digest);
  ReplaySettings other;
  other.allocator = "/some/allocator.so";
  EXPECT_EQ((*replayer)->Run(other).status().code(), absl::StatusCode::kInvalidArgument);
  EXPECT_FALSE(Replayed(program).placement.has_value());
}

}  // namespace
}  // namespace heaptape
