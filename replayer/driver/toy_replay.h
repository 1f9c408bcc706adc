// Replays of toy programs, with what must hold of every replay checked.
//
// Mainland, for tests alone.

#ifndef HEAPTAPE_REPLAYER_DRIVER_TOY_REPLAY_H_
#define HEAPTAPE_REPLAYER_DRIVER_TOY_REPLAY_H_

#include <cstdint>
#include <string>
#include <utility>

#include "gtest/gtest.h"
#include "replayer/driver/event_source.h"
#include "replayer/driver/replayer.h"
#include "replayer/driver/toy_program.h"

namespace heaptape {

inline Header MachineOf(uint32_t cpus) {
  Header header;
  header.set_cpus(cpus);
  return header;
}

inline ReplayResult Replayed(const ToyProgram& program, const ReplaySettings& settings = {},
                      const PlanOptions& options = {}, uint32_t cpus = 8) {
  auto replayer = Replayer::Create(EventsInMemory(MachineOf(cpus), program.events()), options);
  EXPECT_TRUE(replayer.ok()) << replayer.status();
  auto result = (*replayer)->Run(settings);
  EXPECT_TRUE(result.ok()) << result.status();
  if (!result.ok()) return {};
  EXPECT_EQ(result->initial_heap_bytes, 0u);
  EXPECT_EQ(result->failed_calls, 0u);
  if (options == PlanOptions{}) {
    EXPECT_EQ(result->events_done, program.events().size());
  }
  EXPECT_EQ(result->live_blocks, result->plan.live_blocks);
  EXPECT_EQ(result->blocks.size(), result->live_blocks);
  if (result->settings.is_glibc && result->settings.syscalls_seen) {
    EXPECT_EQ(result->system_bytes, result->mallinfo_arena + result->mallinfo_hblkhd);
    uint64_t writable = 0;
    for (const Region& region : result->regions) {
      if (region.writable != 0) writable += region.hi - region.lo;
    }
    EXPECT_EQ(writable, result->system_bytes);
  }
  return *std::move(result);
}

inline ReplaySettings With(const std::string& name, const std::string& value) {
  ReplaySettings settings;
  settings.tunables["glibc.malloc." + name] = value;
  return settings;
}

}  // namespace heaptape

#endif  // HEAPTAPE_REPLAYER_DRIVER_TOY_REPLAY_H_
