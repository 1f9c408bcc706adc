// What a sweep costs. Ratios hold within one iteration, whatever else the machine does.
//
// BM_Sweep: 40 rows over a trace of 5 M events, in a file, on two processors.
//   sweep_x       the sweep from start to end, over 40 replays one after another
//   driver_MiB    most resident memory of this process
//   engines       of them at once; each has what a single replay's has

#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "analysis/sweep.h"
#include "benchmark/benchmark.h"
#include "proto/event.h"
#include "proto/random_events.h"
#include "proto/trace_writer.h"
#include "replayer/driver/event_source.h"

namespace heaptape {
namespace {

using Clock = std::chrono::steady_clock;

constexpr size_t kRows = 40;
constexpr uint64_t kEvents = 5'000'000;
constexpr unsigned kJobs = 2;

double SecondsSince(Clock::time_point start) { return std::chrono::duration<double>(Clock::now() - start).count(); }

[[noreturn]] void Die(const absl::Status& status) {
  std::fprintf(stderr, "%s\n", status.ToString().c_str());
  std::exit(1);
}

// The two that are always tried are among the rows.
std::vector<SweepPoint> Points() {
  std::vector<SweepPoint> points = DefaultGrid({});
  for (int arenas = 3; points.size() < kRows - 1; ++arenas) {
    if (arenas == 4) continue;
    points.emplace_back().tunables["glibc.malloc.arena_max"] = absl::StrCat(arenas);
  }
  return points;
}

std::string WriteTrace() {
  RandomEventsOptions options;
  options.count = kEvents;
  options.threads = 4;
  options.live_target = 20'000;
  const std::string path = absl::StrCat("/tmp/sweep_benchmark.", getpid(), ".heaptape");
  absl::StatusOr<std::unique_ptr<TraceWriter>> writer = TraceWriter::Create(path, Header());
  if (!writer.ok()) Die(writer.status());
  for (const Event& event : RandomEvents(options)) {
    if (absl::Status status = (*writer)->Append(event); !status.ok()) Die(status);
  }
  if (absl::Status status = (*writer)->Close(Footer()); !status.ok()) Die(status);
  return path;
}

void BM_Sweep(benchmark::State& state) {
  const std::string path = WriteTrace();
  const std::vector<SweepPoint> points = Points();
  SweepOptions options;
  options.settings.touch = Touch::kPages;
  options.jobs = kJobs;
  std::vector<double> ratios;
  for (auto _ : state) {
    const Clock::time_point began = Clock::now();
    const absl::StatusOr<std::unique_ptr<Replayer>> replayer = Replayer::Create(TraceFile(path));
    if (!replayer.ok()) Die(replayer.status());
    const absl::StatusOr<Sweep> sweep = RunSweep(replayer->get(), points, options);
    if (!sweep.ok()) Die(sweep.status());
    const double together = SecondsSince(began);
    if (sweep->rows.size() != kRows) Die(absl::InternalError("the sweep has another number of rows"));
    const Clock::time_point then = Clock::now();
    for (const SweepRow& row : sweep->rows) {
      if (!row.ok()) Die(absl::InternalError(row.failure));
      ReplaySettings settings = options.settings;
      settings.tunables = row.point.tunables;
      settings.trim_at_end = row.point.trim_at_end;
      const absl::StatusOr<ReplayResult> single = Replay(path, PlanOptions(), settings);
      if (!single.ok()) Die(single.status());
      if (single->digest != row.digest) Die(absl::InternalError("a single replay is another"));
    }
    ratios.push_back(together / SecondsSince(then));
  }
  unlink(path.c_str());
  std::nth_element(ratios.begin(), ratios.begin() + static_cast<long>(ratios.size() / 2), ratios.end());
  rusage usage;
  getrusage(RUSAGE_SELF, &usage);
  state.counters["sweep_x"] = ratios[ratios.size() / 2];
  state.counters["driver_MiB"] = static_cast<double>(usage.ru_maxrss) / 1024;
  state.counters["engines"] = kJobs;
}
BENCHMARK(BM_Sweep)->Iterations(3)->Unit(benchmark::kSecond);

}  // namespace
}  // namespace heaptape
