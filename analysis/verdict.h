// Verdict: which mechanism makes a heap hold what it holds, by name, with the numbers
// that tell it from its neighbours.
//
// Mainland. Judge is a function of facts, and thread-safe. The facts that a heap map
// does not show come from probes: replays of the same trace with one setting changed.
//
//   requested grows with system, no excess          leak
//   excess goes when the mmap threshold stands      moving mmap threshold
//     (trim_threshold at its own default: the value changes nothing, but setting it
//     freezes the threshold)
//   excess goes with one arena                      arena per thread
//   excess goes without thread caches               thread cache
//   stays, and few blocks hold it                   pinned top
//   stays, and many blocks hold it                  scattered survivors
//   settings make it worse than none                over-tuned
//   no excess                                       healthy
//   none of these, or several alike                 not sure

#ifndef HEAPTAPE_ANALYSIS_VERDICT_H_
#define HEAPTAPE_ANALYSIS_VERDICT_H_

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "analysis/holes.h"
#include "replayer/driver/replay_result.h"
#include "replayer/driver/replay_settings.h"

namespace heaptape {

enum class Mechanism {
  kLeak,
  kMovingThreshold,
  kArenaPerThread,
  kThreadCache,
  kPinnedTop,
  kScatteredSurvivors,
  kOverTuned,
  kHealthy,
  kNotSure,
};

// "moving mmap threshold".
const char* MechanismName(Mechanism mechanism);

// Mappings that the kernel allows a process: vm.max_map_count, unless raised.
inline constexpr uint64_t kMapLimit = 65530;

// What a replay with one setting changed came to.
struct VerdictProbe {
  std::string setting = {};  // "glibc.malloc.arena_max=1", or "no settings"
  std::string purpose = {};  // what it tells apart
  uint64_t system_bytes = 0;
  uint64_t peak_system_bytes = 0;
  uint64_t peak_mappings = 0;
  uint64_t system_calls = 0;
};

struct VerdictFacts {
  uint64_t at_event = 0;
  uint64_t requested_bytes = 0;
  uint64_t half_requested_bytes = 0;  // half way, by events
  uint64_t peak_requested_bytes = 0;
  uint64_t system_bytes = 0;
  uint64_t peak_system_bytes = 0;
  uint64_t peak_mappings = 0;
  uint64_t system_calls = 0;
  uint64_t live_blocks = 0;

  uint64_t hole_bytes = 0;
  uint64_t hole_count = 0;
  uint64_t top_bytes = 0;  // nothing pins them
  uint64_t trimmable_bytes = 0;
  uint64_t pin_count = 0;
  uint64_t pinned_bytes = 0;
  std::optional<Pin> largest_pin;
  uint64_t ten_pins_bytes = 0;  // held back by the ten that hold most
  uint64_t arenas = 0;          // regions that are no block's own mapping
  uint64_t threads = 0;

  // Each where it was made.
  std::optional<VerdictProbe> frozen;    // threshold
  std::optional<VerdictProbe> one_arena;
  std::optional<VerdictProbe> no_thread_cache;
  std::optional<VerdictProbe> untuned;   // without the settings asked for
};

struct Verdict {
  Mechanism mechanism = Mechanism::kNotSure;
  std::string paragraph;
  std::string advice;          // one sentence; may be empty
  std::string environment;     // "GLIBC_TUNABLES=...", if that is the advice
  std::vector<VerdictProbe> probes;   // that were made
};

Verdict Judge(const VerdictFacts& facts);

// Facts from a replay and its holes, of which at least ten pins are detailed; no probes.
VerdictFacts FactsOf(const ReplayResult& result, const HolesReport& holes);

// True if the facts leave something to ask that probes can answer.
bool NeedsProbes(const VerdictFacts& facts);

// Replays the same trace under other settings.
using ProbeFunction = std::function<absl::StatusOr<ReplayResult>(const ReplaySettings& settings)>;

// Facts, probes where they are needed, verdict. `result` is of a replay under
// `settings`. Probes run two at a time.
absl::StatusOr<Verdict> FindVerdict(const ReplayResult& result, const HolesReport& holes,
                                    const ReplaySettings& settings, const ProbeFunction& probe);

}  // namespace heaptape

#endif  // HEAPTAPE_ANALYSIS_VERDICT_H_
