// The engine by itself, fed words that no compiler would write.

#include <signal.h>

#include <cstring>
#include <memory>
#include <random>
#include <string>
#include <vector>

#include "gtest/gtest.h"
#include "replayer/driver/engine_process.h"
#include "replayer/driver/plan_writer.h"
#include "replayer/driver/shared_memory.h"

namespace heaptape {
namespace {

const uint64_t kSomeSlots = Encode(Op::kSlots, 0, 4096);
const uint64_t kEndWord = Encode(Op::kEnd, 0, 0);

class EngineTest : public testing::Test {
 protected:
  static constexpr uint64_t kRingWords = 4096;

  EngineTest()
      : shared_(*SharedMemory::Create("test shared", kSharedBytes)),
        ring_(*SharedMemory::Create("test ring", kRingWords * sizeof(uint64_t))) {}

  SharedHeader& header() { return *reinterpret_cast<SharedHeader*>(shared_.data()); }

  void Start(const std::vector<uint64_t>& words, uint32_t version = kSharedVersion) {
    process_.reset();
    shared_ = *SharedMemory::Create("test shared", kSharedBytes);
    header().version = version;
    header().ring_words = kRingWords;
    std::memcpy(ring_.data(), words.data(), words.size() * sizeof(uint64_t));
    header().committed = words.size();
    auto process = EngineProcess::Start(*FindEngine(), "", {}, shared_.fd(), ring_.fd());
    ASSERT_TRUE(process.ok()) << process.status();
    process_ = *std::move(process);
  }

  // Runs to the end. "" when the plan was done, else why it failed.
  std::string Run(const std::vector<uint64_t>& words) {
    Start(words);
    const absl::Status ended = process_->Wait();
    EXPECT_TRUE(ended.ok()) << ended;
    if (StateOf(header()) == EngineState::kDone) return "";
    EXPECT_EQ(StateOf(header()), EngineState::kFailed);
    return header().failure;
  }

  // As long as it takes it to start.
  void AwaitRunning() {
    while (StateOf(header()) == EngineState::kStarting && !process_->HasExited()) {
    }
    EXPECT_EQ(StateOf(header()), EngineState::kRunning);
  }

  SharedMemory shared_, ring_;
  std::unique_ptr<EngineProcess> process_;
};

TEST_F(EngineTest, DoesAPlan) {
  EXPECT_EQ(Run({kSomeSlots, Encode(Op::kMalloc, 5, 100), Encode(Op::kSample, 0, 0), kEndWord}),
            "");
  EXPECT_EQ(header().events_done, 1u);
  EXPECT_EQ(header().live_blocks, 1u);
  EXPECT_EQ(header().sample_count, 1u);
}

TEST_F(EngineTest, RefusesWhatWouldLeadItAstray) {
  const std::string slot = "an instruction names a slot that was not announced";
  EXPECT_EQ(Run({Encode(Op::kMalloc, 0, 1)}), slot);
  EXPECT_EQ(Run({kSomeSlots, Encode(Op::kFree, 4096, 0)}), slot);
  EXPECT_EQ(Run({kSomeSlots, Encode(Op::kDrop, 4096, 0)}), slot);
  EXPECT_EQ(Run({kSomeSlots, Encode(Op::kRealloc, kSlotCapacity - 1, 8)}), slot);
  EXPECT_EQ(Run({Encode(Op::kSlots, 0, kSlotCapacity + 1)}), "more slots than there are");
  EXPECT_EQ(Run({Encode(Op::kSlots, 0, 100)}), "a part of a page of slots");
  EXPECT_EQ(Run({Encode(Op::kSample, kSampleCapacity, 0)}), "a sample beyond the last possible");
  EXPECT_EQ(Run({Encode(Op::kLane, kLaneCapacity, 0)}), "a lane beyond the last possible");
  EXPECT_EQ(Run({Encode(Op::kLaneEnd, 0, 0)}), "a lane ends that is not current");
  EXPECT_EQ(Run({Encode(Op::kLaneEnd, 7, 0)}), "a lane ends that is not current");
  EXPECT_EQ(Run({Encode(Op::kLane, 1, 0), Encode(Op::kLaneEnd, 1, 0), Encode(Op::kLane, 1, 0)}),
            "a lane goes on after its end");
  EXPECT_EQ(Run({15}), "an unknown instruction");
}

TEST_F(EngineTest, RefusesAnotherVersion) {
  Start({kEndWord}, kSharedVersion + 1);
  EXPECT_TRUE(process_->Wait().ok());
  EXPECT_EQ(StateOf(header()), EngineState::kFailed);
  EXPECT_STREQ(header().failure, "driver and engine are of different versions");
}

// Whatever it is fed, it ends, and never by a signal of its own making.
TEST_F(EngineTest, Garbage) {
  std::mt19937_64 random(1);
  for (int round = 0; round < 300; ++round) {
    std::vector<uint64_t> words = {kSomeSlots};
    while (words.size() < 1000) {
      const uint64_t op = random() % 16;
      // Settings at random make the allocator slow, not the engine wrong.
      if (static_cast<Op>(op) == Op::kMallopt || static_cast<Op>(op) == Op::kEnd) continue;
      const bool sane = random() % 100 != 0;
      uint64_t word = random();
      if (sane) word = Encode(Op::kEnd, word % 4096, (word >> 40) % 3000);
      words.push_back((word & ~uint64_t{15}) | op);
    }
    words.push_back(kEndWord);
    words.push_back(kEndWord);
    Run(words);
  }
}

TEST_F(EngineTest, StopsWhenTold) {
  Start({kSomeSlots, Encode(Op::kMalloc, 0, 1)});
  AwaitRunning();
  // The plan is looked at after the request to stop is: so first let it be done.
  const Slot* slots = reinterpret_cast<const Slot*>(shared_.data() + kSlotsOffset);
  while (__atomic_load_n(&slots[0].address, __ATOMIC_ACQUIRE) == 0) {
  }
  EXPECT_FALSE(process_->HasExited()) << "it waits for more";
  __atomic_store_n(&header().stop, 1, __ATOMIC_RELAXED);
  EXPECT_TRUE(process_->Wait().ok());
  EXPECT_EQ(StateOf(header()), EngineState::kStopped);
  EXPECT_EQ(header().events_done, 1u);
}

TEST_F(EngineTest, StopsOnSigterm) {
  Start({kSomeSlots, Encode(Op::kMalloc, 0, 1)});
  AwaitRunning();
  kill(process_->pid(), SIGTERM);
  EXPECT_TRUE(process_->Wait().ok());
  EXPECT_EQ(StateOf(header()), EngineState::kStopped);
}

TEST_F(EngineTest, ACrashIsToldWithItsMessage) {
  // The same block twice: slots hold addresses, so write one over.
  Start({kSomeSlots, Encode(Op::kMalloc, 0, 100000), Encode(Op::kMalloc, 2, 1)});
  AwaitRunning();
  Slot* slots = reinterpret_cast<Slot*>(shared_.data() + kSlotsOffset);
  while (__atomic_load_n(&slots[2].address, __ATOMIC_ACQUIRE) == 0) {
  }
  slots[1] = slots[0];
  PlanWriter writer(&header(), reinterpret_cast<uint64_t*>(ring_.data()), [] { return true; });
  const std::vector<uint64_t> words = {kSomeSlots,
                                       Encode(Op::kMalloc, 0, 100000),
                                       Encode(Op::kMalloc, 2, 1),
                                       Encode(Op::kFree, 0, 0),
                                       Encode(Op::kFree, 1, 0),
                                       kEndWord};
  EXPECT_TRUE(writer.Write(words));
  const absl::Status ended = process_->Wait();
  EXPECT_EQ(ended.code(), absl::StatusCode::kInternal);
  EXPECT_EQ(ended.message(),
            "the engine was killed by signal 6 (Aborted): double free or corruption (!prev)");
}

}  // namespace
}  // namespace heaptape
