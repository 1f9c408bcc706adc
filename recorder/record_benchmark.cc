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
//   lttng_x             the same under LTTng-UST's libc wrapper, lossless
//
// BM_RecordProgram: programs that others wrote, from start to end.
//   recorded_x, heaptrack_x, lttng_x   their time, over bare
//   bytes_a_call        of the trace

#include <stdlib.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
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

using Command = std::vector<std::string>;

// A tracing session of LTTng's: its libc wrapper's events, none of them lost.
class Lttng {
 public:
  static constexpr char kWrapper[] = "liblttng-ust-libc-wrapper.so.1";

  explicit Lttng(const std::string& directory) : directory_(directory) {
    there_ = Works({"sh", "-c", std::string("command -v lttng && /sbin/ldconfig -p | grep -q ") + kWrapper}) &&
             (Works({"pgrep", "-x", "lttng-sessiond"}) || Works({"lttng-sessiond", "--daemonize"}));
  }
  bool there() const { return there_; }

  // Runs what `run` does with this environment in a session.
  template <typename Function>
  auto In(const Function& run) const {
    for (const Command& command : std::vector<Command>{
             {"lttng", "create", "heaptape", "--output=" + directory_ + "/lttng"},
             {"lttng", "enable-channel", "-u", "--subbuf-size=4M", "--num-subbuf=8", "--blocking-timeout=inf", "c"},
             {"lttng", "enable-event", "-u", "lttng_ust_libc:*", "-c", "c"},
             {"lttng", "start"}}) {
      if (!Works(command)) std::fprintf(stderr, "%s %s failed\n", command[0].c_str(), command[1].c_str());
    }
    auto result = run({std::string("LD_PRELOAD=") + kWrapper, "LTTNG_UST_ALLOW_BLOCKING=1"});
    Works({"lttng", "stop"});
    Works({"lttng", "destroy", "heaptape"});
    std::filesystem::remove_all(directory_ + "/lttng");
    return result;
  }

 private:
  static bool Works(const Command& command) { return RunProgram(command).exit_code == 0; }

  const std::string directory_;
  bool there_ = false;
};

void Record(benchmark::State& state, const std::string& program) {
  const std::string forwarding = std::filesystem::absolute(kPrograms + "libforwarding_malloc.so");
  const std::string directory = MakeTestDirectory("record_benchmark");
  const std::string trace = directory + "/t.heaptape";
  std::map<std::string, std::vector<double>> figures;
  const bool heaptrack = RunProgram({"sh", "-c", "command -v heaptrack"}).exit_code == 0;
  const Lttng lttng(directory);
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
    if (lttng.there()) {
      const Loop traced = lttng.In([&program](const std::vector<std::string>& with) { return Run({program}, with); });
      figures["lttng_x"].push_back(traced.ns / bare.ns);
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

// Seconds from start to end; it must succeed.
double Time(const Command& command, const std::vector<std::string>& environment = {}) {
  const auto began = std::chrono::steady_clock::now();
  const ProgramResult result = RunProgram(command, environment);
  const std::chrono::duration<double> passed = std::chrono::steady_clock::now() - began;
  if (result.exit_code != 0) {
    std::fprintf(stderr, "%s failed: %s\n", command[0].c_str(), result.error.c_str());
    exit(1);
  }
  return passed.count();
}

Command Behind(Command command, const Command& program) {
  command.insert(command.end(), program.begin(), program.end());
  return command;
}

// Over all traces in a directory, which are removed: a program may start others.
double BytesACall(const std::string& directory) {
  double bytes = 0, events = 0;
  for (const auto& entry : std::filesystem::directory_iterator(directory)) {
    if (entry.path().extension() != ".heaptape") continue;
    const ProgramResult info = RunProgram({"tools/heaptape", "info", entry.path(), "--format=json"});
    const size_t at = info.out.find("\"events\":");
    if (at != std::string::npos) events += std::strtod(info.out.c_str() + at + 9, nullptr);
    bytes += static_cast<double>(entry.file_size());
    std::filesystem::remove(entry.path());
  }
  return bytes / events;
}

void RecordProgram(benchmark::State& state, const Command& program, const std::vector<std::string>& environment = {}) {
  const std::string directory = MakeTestDirectory("record_benchmark");
  const std::string trace = directory + "/t.heaptape";
  std::map<std::string, std::vector<double>> figures;
  const bool heaptrack = RunProgram({"sh", "-c", "command -v heaptrack"}).exit_code == 0;
  const Lttng lttng(directory);
  if (RunProgram({"sh", "-c", "command -v " + program[0]}).exit_code != 0) {
    state.SkipWithError((program[0] + " is not installed").c_str());
    return;
  }
  for (auto _ : state) {
    const double bare = Time(program, environment);
    figures["recorded_x"].push_back(Time(Behind({"tools/heaptape", "record", "-o", trace, "--"}, program), environment) / bare);
    figures["bytes_a_call"].push_back(BytesACall(directory));
    if (heaptrack) {
      figures["heaptrack_x"].push_back(Time(Behind({"heaptrack", "-o", directory + "/peer"}, program), environment) / bare);
    }
    if (lttng.there()) {
      figures["lttng_x"].push_back(lttng.In([&](std::vector<std::string> with) {
        with.insert(with.end(), environment.begin(), environment.end());
        return Time(program, with);
      }) / bare);
    }
  }
  for (const auto& [name, values] : figures) state.counters[name] = Median(values);
  std::filesystem::remove_all(directory);
}

// Parses the standard library and takes it through JSON.
constexpr char kPython[] = R"(
import ast, json, os
root = os.path.dirname(os.__file__)
def plain(node):
    if isinstance(node, ast.AST):
        return {type(node).__name__: [plain(value) for _, value in ast.iter_fields(node)]}
    return [plain(item) for item in node] if isinstance(node, list) else repr(node)
for name in sorted(os.listdir(root))[:60]:
    if name.endswith('.py'):
        with open(os.path.join(root, name), encoding='utf-8') as file:
            json.loads(json.dumps(plain(ast.parse(file.read()))))
)";

constexpr char kCxx[] = R"(
#include <algorithm>
#include <functional>
#include <iostream>
#include <map>
#include <regex>
#include <string>
#include <vector>
std::map<std::string, std::vector<std::function<int(std::smatch)>>> table;
int main() {
  std::regex expression("(a|b)*c");
  std::smatch match;
  std::string text;
  while (std::getline(std::cin, text) && std::regex_match(text, match, expression)) table[text].push_back([](auto) { return 1; });
  std::cout << std::count_if(table.begin(), table.end(), [](auto& entry) { return !entry.second.empty(); });
}
)";

constexpr char kSql[] =
    "create table t(a integer primary key, b text, c real);"
    "with recursive n(i) as (select 1 union all select i + 1 from n where i < 800000) "
    "insert into t select i, 'row ' || i || ' ' || hex(randomblob(8)), i * 0.5 from n;"
    "create index u on t(b); select count(*), sum(length(b)) from t where b like '%a%';"
    "select b, count(*) from t group by substr(b, 5, 3) order by 2 desc limit 5; delete from t where a % 3 = 0;";

void BM_RecordPython(benchmark::State& state) {
  RecordProgram(state, {"/usr/bin/python3", "-S", "-s", "-c", kPython}, {"PYTHONMALLOC=malloc"});
}
void BM_RecordCompiler(benchmark::State& state) {
  const std::string source = std::filesystem::temp_directory_path() / "heaptape_record_benchmark.cc";
  std::ofstream(source) << kCxx;
  RecordProgram(state, {"g++", "-O2", "-c", source, "-o", "/dev/null"});
  std::filesystem::remove(source);
}
void BM_RecordSqlite(benchmark::State& state) { RecordProgram(state, {"sqlite3", ":memory:", kSql}); }
BENCHMARK(BM_RecordPython)->Iterations(5)->Unit(benchmark::kMillisecond);
BENCHMARK(BM_RecordCompiler)->Iterations(5)->Unit(benchmark::kMillisecond);
BENCHMARK(BM_RecordSqlite)->Iterations(5)->Unit(benchmark::kMillisecond);

// 20 M calls each.
void BM_RecordOneThread(benchmark::State& state) { Record(state, kPrograms + "random_loop"); }
void BM_RecordFourThreads(benchmark::State& state) { Record(state, kPrograms + "passing_loop"); }
BENCHMARK(BM_RecordOneThread)->Iterations(5)->Unit(benchmark::kMillisecond);
BENCHMARK(BM_RecordFourThreads)->Iterations(5)->Unit(benchmark::kMillisecond);

}  // namespace
}  // namespace heaptape
