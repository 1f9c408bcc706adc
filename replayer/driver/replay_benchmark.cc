// What a replay costs. Ratios hold within one iteration, whatever else the machine
// does; the figures are medians over iterations.
//
// BM_OneThread, BM_FourThreads: programs recorded, run bare and replayed.
//   engine_x         time in instructions, plan kept, over the program's own loop
//   engine_ns        the same, a call
//   second_x         a second replay (plan kept) from start to end, over the first
// BM_Lanes: real traces of 15 and 393 threads, if HEAPTAPE_SHARED names the directory of
// such, and one of 393 that is made up: a few calls by each in turn.
//   lanes_x          time in instructions, over the same calls by one thread
// BM_MemoryCall: blocks that are mapped and unmapped one by one.
//   added_ns         what a call of mmap or munmap costs more than in a bare loop
//   signalled_ns     the same where a signal delivers each call
// BM_LongTrace: a milliard events that were never in memory, or HEAPTAPE_EVENTS.
//   driver_MiB, engine_MiB   most resident memory of each, what they share in both
//   total_x                  the sum, over 1 GiB

#include <sys/mman.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "benchmark/benchmark.h"
#include "replayer/driver/endless_source.h"
#include "replayer/driver/event_source.h"
#include "replayer/driver/replayer.h"
#include "replayer/driver/resident_peak.h"
#include "testdata/run_program.h"

namespace heaptape {
namespace {

using Clock = std::chrono::steady_clock;

// Medians of what iterations yield.
class Figures {
 public:
  void Add(const std::string& name, double value) { values_[name].push_back(value); }
  void Report(benchmark::State& state) {
    for (auto& [name, values] : values_) {
      std::nth_element(values.begin(), values.begin() + values.size() / 2, values.end());
      state.counters[name] = values[values.size() / 2];
    }
  }

 private:
  std::map<std::string, std::vector<double>> values_;
};

ReplayResult Run(Replayer& replayer, const ReplayProgress& progress = nullptr) {
  absl::StatusOr<ReplayResult> result = replayer.Run({}, progress);
  if (!result.ok()) {
    std::fprintf(stderr, "%s\n", result.status().ToString().c_str());
    std::exit(1);
  }
  return *std::move(result);
}

std::unique_ptr<Replayer> Make(EventSourceFactory events,
                               uint64_t budget = Replayer::kDefaultPlanBudget) {
  auto replayer = Replayer::Create(std::move(events), {}, budget);
  if (!replayer.ok()) {
    std::fprintf(stderr, "%s\n", replayer.status().ToString().c_str());
    std::exit(1);
  }
  return *std::move(replayer);
}

void ReplayProgram(benchmark::State& state, const std::string& program) {
  const std::string directory = MakeTestDirectory("replay_benchmark");
  const std::string trace = directory + "/t.heaptape";
  if (RunProgram({"tools/heaptape", "record", "-o", trace, "--", program}, {}).exit_code != 0) {
    state.SkipWithError("cannot record");
    return;
  }
  Figures figures;
  for (auto _ : state) {
    double bare_ns = 0, calls = 1;
    const ProgramResult bare = RunProgram({program}, {});
    std::sscanf(bare.out.c_str(), "%lf %lf", &bare_ns, &calls);
    const auto replayer = Make(TraceFile(trace));
    const ReplayResult first = Run(*replayer);
    const ReplayResult second = Run(*replayer);
    figures.Add("engine_x", second.allocator_seconds * 1e9 / bare_ns);
    figures.Add("engine_ns", second.allocator_seconds * 1e9 / calls);
    figures.Add("second_x", second.replay_seconds / first.replay_seconds);
  }
  figures.Report(state);
  std::filesystem::remove_all(directory);
}

void BM_OneThread(benchmark::State& state) {
  ReplayProgram(state, "testdata/programs/random_loop");
}
void BM_FourThreads(benchmark::State& state) {
  ReplayProgram(state, "testdata/programs/passing_loop");
}
BENCHMARK(BM_OneThread)->Iterations(5)->Unit(benchmark::kMillisecond);
BENCHMARK(BM_FourThreads)->Iterations(5)->Unit(benchmark::kMillisecond);

// A few calls by one of the threads, then by another.
std::vector<Event> ManyThreads(int count, uint32_t threads) {
  std::vector<Event> events;
  std::vector<uint64_t> live(20000);
  Xorshift random;
  uint32_t thread = 0;
  uint64_t next = 16;
  while (events.size() < static_cast<size_t>(count)) {
    const uint64_t dice = random.Next();
    if (dice % 8 == 0) thread = (dice >> 8) % threads;
    uint64_t& block = live[(dice >> 20) % live.size()];
    events.push_back({.address = block, .thread = thread, .kind = EventKind::kFree});
    if (block == 0) block = next += 1024;
    events.push_back({.address = block, .size = 16 + (dice >> 40) % 500, .thread = thread});
  }
  return events;
}

std::vector<Event> EventsOf(const std::string& path) {
  std::vector<Event> all, events;
  auto source = TraceFile(path)();
  while (source.ok()) {
    const absl::StatusOr<bool> more = (*source)->Next(&events);
    if (!more.ok() || !*more) break;
    all.insert(all.end(), events.begin(), events.end());
  }
  return all;
}

std::vector<Event> AndroidEvents(const std::string& name) {
  const char* const shared = std::getenv("HEAPTAPE_SHARED");
  if (shared == nullptr) return {};
  const std::string directory = MakeTestDirectory("replay_benchmark");
  const std::string recorded = std::string(shared) + "/traces/android/" + name + ".zip";
  RunProgram({"tools/heaptape", "import", "--from=android", recorded, "-o", directory + "/t.heaptape"}, {});
  std::vector<Event> events = EventsOf(directory + "/t.heaptape");
  std::filesystem::remove_all(directory);
  return events;
}

void BM_Lanes(benchmark::State& state, const std::string& recorded) {
  const std::vector<Event> events = recorded.empty() ? ManyThreads(4000000, 393) : AndroidEvents(recorded);
  if (events.empty()) {
    state.SkipWithError("HEAPTAPE_SHARED does not name the directory of real traces");
    return;
  }
  std::vector<Event> by_one = events;
  for (Event& event : by_one) event.thread = 0;
  const auto lanes = Make(EventsInMemory(Header(), events));
  const auto one_lane = Make(EventsInMemory(Header(), by_one));
  Run(*lanes);
  Run(*one_lane);
  Figures figures;
  for (auto _ : state) {
    const double seconds = Run(*lanes).allocator_seconds;
    figures.Add("lanes_x", seconds / Run(*one_lane).allocator_seconds);
    figures.Add("lanes_ns", seconds * 1e9 / events.size());
  }
  figures.Report(state);
}
BENCHMARK_CAPTURE(BM_Lanes, surfaceflinger, "surfaceflinger")->Iterations(5)->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(BM_Lanes, systemui, "systemui")->Iterations(5)->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(BM_Lanes, made_up, "")->Iterations(5)->Unit(benchmark::kMillisecond);

void BM_MemoryCall(benchmark::State& state) {
  constexpr int kBlocks = 100000;
  constexpr uint64_t kBytes = 300000;
  constexpr uint64_t kMapped = (kBytes + 16 + 4095) & ~uint64_t{4095};
  std::vector<Event> events;
  for (uint64_t i = 1; i <= kBlocks; ++i) {
    events.push_back({.address = i * 16, .size = kBytes});
    events.push_back({.address = i * 16, .kind = EventKind::kFree});
  }
  ReplaySettings settings;
  settings.tunables["glibc.malloc.mmap_threshold"] = "131072";
  const auto replayer = Make(EventsInMemory(Header(), events));
  Figures figures;
  for (auto _ : state) {
    const auto start = Clock::now();
    for (int i = 0; i < kBlocks; ++i) {
      // What glibc does for such a block, whatever holes our own heap may have for it.
      void* block =
          mmap(nullptr, kMapped, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
      *static_cast<volatile uint64_t*>(block) = kBytes;
      munmap(block, kMapped);
    }
    const double bare = std::chrono::duration<double>(Clock::now() - start).count();
    for (const bool signalled : {false, true}) {
      settings.keep_call_sites = signalled;
      const auto result = replayer->Run(settings);
      if (!result.ok() || result->syscalls.mmap != kBlocks) {
        state.SkipWithError("the blocks were not mapped");
        return;
      }
      figures.Add(signalled ? "signalled_ns" : "added_ns",
                  (result->allocator_seconds - bare) * 1e9 / (2 * kBlocks));
    }
  }
  figures.Report(state);
}
BENCHMARK(BM_MemoryCall)->Iterations(5)->Unit(benchmark::kMillisecond);

void BM_LongTrace(benchmark::State& state) {
  constexpr double kMiB = 1 << 20;
  const char* events = std::getenv("HEAPTAPE_EVENTS");
  const uint64_t count = events != nullptr ? std::strtoull(events, nullptr, 10) : 1000000000;
  for (auto _ : state) {
    ResidentPeak peak;
    const auto replayer = Make(MadeUpEvents(count));
    const ReplayResult result = Run(*replayer, [&](const ReplayPosition&) {
      peak.LookAtEngine();
      return true;
    });
    state.counters["events"] = static_cast<double>(result.events_done);
    state.counters["events_a_second"] =
        static_cast<double>(result.events_done) / result.replay_seconds;
    state.counters["driver_MiB"] = peak.driver_bytes() / kMiB;
    state.counters["engine_MiB"] = peak.engine_bytes() / kMiB;
    state.counters["total_x"] = (peak.driver_bytes() + peak.engine_bytes()) / kMiB / 1024;
  }
}
BENCHMARK(BM_LongTrace)->Iterations(1)->Unit(benchmark::kSecond);

}  // namespace
}  // namespace heaptape
