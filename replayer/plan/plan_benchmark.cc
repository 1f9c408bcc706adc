// How fast a plan is compiled, in events a second on one core.
//
//   bazel run -c opt //replayer/plan:plan_benchmark

#include <vector>

#include "benchmark/benchmark.h"
#include "proto/random_events.h"
#include "replayer/plan/plan_compiler.h"

namespace heaptape {
namespace {

constexpr size_t kBatch = 65536;

// Argument: blocks live at once.
void BM_Compile(benchmark::State& state) {
  RandomEventsOptions options;
  options.count = 4000000;
  options.live_target = state.range(0);
  options.every_kind = false;
  const std::vector<Event> events = RandomEvents(options);
  std::vector<uint64_t> words;
  for (auto _ : state) {
    PlanCompiler compiler;
    for (size_t i = 0; i < events.size(); i += kBatch) {
      words.clear();
      const size_t n = std::min(kBatch, events.size() - i);
      compiler.Add(i + 1, absl::MakeConstSpan(events).subspan(i, n), &words);
      benchmark::DoNotOptimize(words.data());
    }
  }
  state.SetItemsProcessed(state.iterations() * events.size());
}
BENCHMARK(BM_Compile)->Arg(1000)->Arg(10000)->Arg(1000000)->Unit(benchmark::kMillisecond);

}  // namespace
}  // namespace heaptape
