// Memory grows with live blocks, not with events.

#include <sys/prctl.h>

#include <cstdint>

#include "gtest/gtest.h"
#include "replayer/driver/endless_source.h"
#include "replayer/driver/replayer.h"
#include "replayer/driver/resident_peak.h"

namespace heaptape {
namespace {

constexpr uint64_t kMiB = 1 << 20;

struct Peak {
  uint64_t driver_bytes, engine_bytes;
};

Peak PeakOfReplay(uint64_t events, uint64_t plan_budget) {
  ResidentPeak peak;
  auto replayer = Replayer::Create(MadeUpEvents(events), {}, plan_budget);
  EXPECT_TRUE(replayer.ok()) << replayer.status();
  const auto result = (*replayer)->Run({}, [&](const ReplayPosition&) {
    peak.LookAtEngine();
    return true;
  });
  EXPECT_TRUE(result.ok()) << result.status();
  if (!result.ok()) return {};
  EXPECT_GE(result->events_done, events);
  EXPECT_EQ(result->live_blocks, 100000u);
  EXPECT_GT(peak.engine_bytes(), 0u) << "over too soon to be seen";
  return {peak.driver_bytes(), peak.engine_bytes()};
}

TEST(LongTrace, MemoryDoesNotGrowWithEvents) {
  constexpr uint64_t kBudget = 16 * kMiB;
  // The driver's tables are else in huge pages of 2 MiB as the kernel finds any, which is
  // no matter of events.
  ASSERT_EQ(prctl(PR_SET_THP_DISABLE, 1, 0, 0, 0), 0);
  PeakOfReplay(10'000'000, kBudget);  // our own heap finds its size
  const Peak shorter = PeakOfReplay(10'000'000, kBudget);
  const Peak longer = PeakOfReplay(40'000'000, kBudget);
  EXPECT_LT(longer.driver_bytes, shorter.driver_bytes + 2 * kMiB);
  EXPECT_LT(longer.engine_bytes, shorter.engine_bytes + 2 * kMiB);
}

// An engine reads a plan once: what it has read need not be resident in two places.
TEST(LongTrace, AKeptPlanIsResidentInTheDriverAlone) {
  constexpr uint64_t kEvents = 10'000'000;  // 8 bytes each
  const Peak windowed = PeakOfReplay(kEvents, 16 * kMiB);
  const Peak kept = PeakOfReplay(kEvents, 128 * kMiB);
  EXPECT_GT(kept.driver_bytes, windowed.driver_bytes + 50 * kMiB);
  EXPECT_LT(kept.engine_bytes, windowed.engine_bytes + 2 * kMiB);
}

}  // namespace
}  // namespace heaptape
