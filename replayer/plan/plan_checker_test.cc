#include "replayer/plan/plan_checker.h"

#include <string>
#include <vector>

#include "gtest/gtest.h"

namespace heaptape {
namespace {

const uint64_t kSomeSlots = Encode(Op::kSlots, 0, 4096);
const uint64_t kEndWord = Encode(Op::kEnd, 0, 0);

std::string Check(const std::vector<uint64_t>& words) {
  PlanChecker checker;
  absl::Status status = checker.Add(words);
  if (status.ok()) status = checker.Finish();
  return std::string(status.message());
}

TEST(PlanChecker, AcceptsWhatTheContractAllows) {
  EXPECT_EQ(Check({kEndWord}), "");
  EXPECT_EQ(Check({kSomeSlots, Encode(Op::kMalloc, 7, 100), Encode(Op::kRealloc, 7, 0) | kWideBit,
                   uint64_t{1} << 40, Encode(Op::kLane, 3, 0), Encode(Op::kFree, 7, 0),
                   Encode(Op::kLaneEnd, 3, 0), Encode(Op::kSample, 0, 0), kEndWord}),
            "");
  EXPECT_EQ(Check({kSomeSlots, Encode(Op::kMemalign, 1, 12) | kWideBit, 100, kEndWord}), "");
}

TEST(PlanChecker, CountsEvents) {
  PlanChecker checker;
  ASSERT_TRUE(checker
                  .Add({kSomeSlots, Encode(Op::kMalloc, 0, 1), Encode(Op::kSkip, 0, 5),
                        Encode(Op::kDrop, 0, 0), Encode(Op::kTrim, 1, 0), Encode(Op::kTrim, 0, 0)})
                  .ok());
  EXPECT_EQ(checker.events(), 7u);
  EXPECT_EQ(checker.live_blocks(), 0u);
}

TEST(PlanChecker, NamesTheWordAndTheRule) {
  EXPECT_EQ(Check({}), "plan of 0 words does not end");
  EXPECT_EQ(Check({kEndWord, kEndWord}), "plan word 1 (0): after the end");
  EXPECT_EQ(Check({15}), "plan word 0 (f): unknown op");
  EXPECT_EQ(Check({Encode(Op::kMalloc, 0, 1)}), "plan word 0 (100000001): slot was not announced");

  const auto second = [](uint64_t word) {
    const std::string message = Check({kSomeSlots, word, 0, kEndWord});
    EXPECT_EQ(message.find("plan word 1 "), 0u) << message;
    return message.substr(message.find(": ") + 2);
  };
  EXPECT_EQ(second(Encode(Op::kFree, 0, 0)), "slot is empty");
  EXPECT_EQ(second(Encode(Op::kRealloc, 0, 8)), "slot is empty");
  EXPECT_EQ(second(Encode(Op::kMemalign, 0, 4)), "not wide");
  EXPECT_EQ(second(Encode(Op::kMalloc, 0, 4) | kWideBit), "upper half of a wide word");
  EXPECT_EQ(second(Encode(Op::kMemalign, 0, 64) | kWideBit), "upper half of a wide word");
  EXPECT_EQ(second(Encode(Op::kSkip, 0, 0)), "skips nothing");
  EXPECT_EQ(second(Encode(Op::kSample, 1, 0)), "sample out of order");
  EXPECT_EQ(second(Encode(Op::kHalve, 0, 0)), "samples are not full");
  EXPECT_EQ(second(Encode(Op::kLaneEnd, 0, 0)), "lane 0 cannot end");
  EXPECT_EQ(second(Encode(Op::kLaneEnd, 1, 0)), "lane that ends is not current");
  EXPECT_EQ(second(Encode(Op::kLane, kLaneCapacity, 0)), "lane beyond the last possible");
  EXPECT_EQ(second(Encode(Op::kSlots, 0, 4096)), "number of slots");
  EXPECT_EQ(second(Encode(Op::kSlots, 0, 4097)), "number of slots");
  EXPECT_EQ(second(Encode(Op::kTrim, 2, 0)), "slot of a trim");
}

TEST(PlanChecker, AnEndedLaneIsNeverUsedAgain) {
  const uint64_t lane = Encode(Op::kLane, 1, 0);
  const uint64_t lane_end = Encode(Op::kLaneEnd, 1, 0);
  EXPECT_EQ(Check({lane, lane_end, lane, kEndWord}), "plan word 2 (26): lane has ended");
  EXPECT_EQ(Check({lane, lane_end, Encode(Op::kTrim, 0, 0), kEndWord}),
            "plan word 2 (d): call after the lane's end");
}

}  // namespace
}  // namespace heaptape
