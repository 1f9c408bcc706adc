// What recording costs a program. Each iteration runs a program bare, behind an
// empty forwarding preload, and recorded, one after the other, so that ratios
// hold whatever else the machine does; the figures are medians over iterations.
//
//   forwarding_x        loop time behind the empty preload, over bare
//   forwarding_ns       what that adds to a call
//   recorded_x          loop time recorded and lossless, over bare
//   recorded_ns         what that adds to a call
//   burst_ns            the same with room for all calls, so that the program
//                       never waits for the collector
//   bytes_a_call        of the trace
//   busy_x              bare loop time while another core only counts, over bare:
//                       what sharing the machine with any second process costs
//   heaptrack_x         loop time under heaptrack, over bare, if it is installed

#include <stdlib.h>

#include <algorithm>
#include <atomic>
#include <cstdio>
#include <filesystem>
#include <map>
#include <sstream>
#include <string>
#include <thread>
#include <vector>

#include "benchmark/benchmark.h"
#include "testdata/run_program.h"

namespace heaptape {
namespace {

const std::string kPrograms = "testdata/programs/";

double Median(std::vector<double> values) {
  std::nth_element(values.begin(), values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2), values.end());
  return values[values.size() / 2];
}

struct Loop {
  double ns = 0;
  double calls = 0;
};

// The program prints its figures last.
Loop Run(std::vector<std::string> command, const std::vector<std::string>& environment = {}) {
  Loop loop;
  const ProgramResult result = RunProgram(command, environment);
  std::string line;
  std::istringstream lines(result.out);
  for (std::string next; std::getline(lines, next);) {
    if (std::sscanf(next.c_str(), "%lf %lf", &loop.ns, &loop.calls) == 2) line = next;
  }
  if (result.exit_code != 0 || line.empty()) {
    std::fprintf(stderr, "%s failed: %s\n", command[0].c_str(), result.error.c_str());
    exit(1);
  }
  return loop;
}

void Record(benchmark::State& state, const std::string& program) {
  const std::string forwarding = std::filesystem::absolute(kPrograms + "libforwarding_malloc.so");
  const std::string directory = MakeTestDirectory("record_benchmark");
  const std::string trace = directory + "/t.heaptape";
  std::map<std::string, std::vector<double>> figures;
  const bool heaptrack = RunProgram({"sh", "-c", "command -v heaptrack"}).exit_code == 0;
  for (auto _ : state) {
    const Loop bare = Run({program});
    const Loop forwarded = Run({program}, {"LD_PRELOAD=" + forwarding});
    std::filesystem::remove(trace);
    const Loop recorded = Run({"tools/heaptape", "record", "-o", trace, "--", program});
    figures["bytes_a_call"].push_back(static_cast<double>(std::filesystem::file_size(trace)) / recorded.calls);
    std::filesystem::remove(trace);
    const Loop burst = Run({"tools/heaptape", "record", "--buffer=1G", "-o", trace, "--", program});
    {
      std::atomic<bool> stop = false;
      std::thread busy([&stop] {
        while (!stop) {
        }
      });
      figures["busy_x"].push_back(Run({program}).ns / bare.ns);
      stop = true;
      busy.join();
    }
    if (heaptrack) {
      figures["heaptrack_x"].push_back(Run({"heaptrack", "-o", directory + "/peer", program}).ns / bare.ns);
    }
    figures["forwarding_x"].push_back(forwarded.ns / bare.ns);
    figures["forwarding_ns"].push_back((forwarded.ns - bare.ns) / bare.calls);
    figures["recorded_x"].push_back(recorded.ns / bare.ns);
    figures["recorded_ns"].push_back((recorded.ns - bare.ns) / bare.calls);
    figures["burst_ns"].push_back((burst.ns - bare.ns) / bare.calls);
  }
  for (const auto& [name, values] : figures) state.counters[name] = Median(values);
  std::filesystem::remove_all(directory);
}

// 20 M calls each.
void BM_RecordOneThread(benchmark::State& state) { Record(state, kPrograms + "random_loop"); }
void BM_RecordFourThreads(benchmark::State& state) { Record(state, kPrograms + "passing_loop"); }
BENCHMARK(BM_RecordOneThread)->Iterations(5)->Unit(benchmark::kMillisecond);
BENCHMARK(BM_RecordFourThreads)->Iterations(5)->Unit(benchmark::kMillisecond);

}  // namespace
}  // namespace heaptape
