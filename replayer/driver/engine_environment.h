// EngineEnvironment: the environment that the engine starts with, exactly.
//
// Mainland; functions without state. glibc takes its settings from GLIBC_TUNABLES
// before main, so they must be in the environment of a fresh process; and nothing
// else may be in it, so that two replays differ in nothing that was not asked for.
// The engine gets GLIBC_TUNABLES and LD_PRELOAD, and no more.

#ifndef HEAPTAPE_REPLAYER_DRIVER_ENGINE_ENVIRONMENT_H_
#define HEAPTAPE_REPLAYER_DRIVER_ENGINE_ENVIRONMENT_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "proto/trace.pb.h"
#include "replayer/driver/replay_settings.h"
#include "replayer/driver/tunables.h"

namespace heaptape {

struct EngineEnvironment {
  std::vector<std::string> variables;  // NAME=VALUE
  // What decides: recorded settings, the user's over them.
  TunableMap tunables;
  // glibc.malloc.arena_max as set for the recorded machine; 0 where `tunables`
  // sets it, or another allocator is under test.
  uint64_t arena_limit = 0;
  std::vector<std::string> notes;  // recorded settings that are not in force, and why
};

// Settings of the recorded program that reached its malloc: the glibc.malloc.*
// of GLIBC_TUNABLES, and the older variables (MALLOC_ARENA_MAX and the like)
// where those are silent. Not checked.
TunableMap RecordedTunables(const Header& header);

// The most arenas that glibc would make on a machine with `cpus` processors (0:
// not known, 8 assumed) while arena_max is not set: it starts to count when it
// has arena_test of them.
uint64_t DefaultArenaLimit(uint32_t cpus, uint64_t arena_test);

// InvalidArgument for settings.tunables that glibc would ignore, NotFound for an
// allocator that is not there.
absl::StatusOr<EngineEnvironment> ComposeEnvironment(const Header& header,
                                                     const ReplaySettings& settings,
                                                     const Tunables& known);

// The shared object of an allocator: its path if it has a slash, else one of the
// known names, sought where distributions put libraries. Empty for "glibc".
absl::StatusOr<std::string> AllocatorPath(const std::string& allocator);

// The known names, glibc aside, of which a shared object is there.
std::vector<std::string> InstalledAllocators();

}  // namespace heaptape

#endif  // HEAPTAPE_REPLAYER_DRIVER_ENGINE_ENVIRONMENT_H_
