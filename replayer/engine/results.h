// Results: from the engine's tables into the shared mapping.
//
// Island; the first thread, on its own FS base, before and after the plan.

#ifndef HEAPTAPE_REPLAYER_ENGINE_RESULTS_H_
#define HEAPTAPE_REPLAYER_ENGINE_RESULTS_H_

#include "replayer/engine/engine.h"

namespace heaptape {

// Where the process stood before the first instruction.
struct Baseline {
  uint64_t minor_faults;
  uint64_t time_ns;
  uint64_t wait_ns;
};

Baseline TakeBaseline(const Engine& engine);

// Measures, and writes everything but the state.
void WriteResults(Engine* engine, const Baseline& baseline);

}  // namespace heaptape

#endif  // HEAPTAPE_REPLAYER_ENGINE_RESULTS_H_
