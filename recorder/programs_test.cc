// Programs that nobody here wrote, recorded end to end: same output, same exit
// status, a whole trace without contradictions. One that is not installed is
// skipped.

#include <unistd.h>

#include <chrono>
#include <filesystem>
#include <fstream>
#include <string>
#include <thread>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "gtest/gtest.h"
#include "recorder/recorded.h"
#include "testdata/run_program.h"

namespace heaptape {
namespace {

bool Installed(const std::string& program) {
  return RunProgram({"sh", "-c", absl::StrCat("command -v ", program)}).exit_code == 0;
}

// What the program itself wrote to standard error.
std::string WithoutOurs(const std::string& error) {
  std::vector<std::string> lines;
  for (absl::string_view line : absl::StrSplit(error, '\n')) {
    if (!absl::StartsWith(line, "heaptape: ")) lines.emplace_back(line);
  }
  return absl::StrJoin(lines, "\n");
}

struct Program {
  const char* name;
  std::vector<std::string> command;
  uint64_t least_calls;  // of all images together
};

class ProgramsTest : public RecordedTest, public testing::WithParamInterface<Program> {};

TEST_P(ProgramsTest, BehavesAsWithoutUs) {
  const Program& program = GetParam();
  if (!Installed(program.command[0])) GTEST_SKIP() << program.command[0] << " is not installed";
  const ProgramResult bare = RunProgram(program.command);
  ASSERT_EQ(bare.exit_code, 0) << bare.error;
  const ProgramResult recorded = Record(program.command);
  EXPECT_EQ(recorded.exit_code, bare.exit_code) << recorded.error;
  EXPECT_EQ(recorded.out, bare.out);
  EXPECT_EQ(WithoutOurs(recorded.error), bare.error);
  uint64_t calls = 0;
  for (const std::string& path : Traces()) {
    const Trace trace = ReadTrace(path);
    EXPECT_TRUE(trace.health.complete) << path << absl::StrJoin(trace.health.problems, "\n");
    EXPECT_EQ(FindContradictions(trace.events).live_twice, 0) << path;
    calls += trace.calls();
  }
  EXPECT_GE(calls, program.least_calls);
}

INSTANTIATE_TEST_SUITE_P(
    Debian, ProgramsTest,
    testing::Values(
        Program{"python3", {"/usr/bin/python3", "-c", "import json; print(len(json.dumps(list(range(100000)))))"}, 2000},
        Program{"node", {"node", "-e", "let a=[];for(let i=0;i<9000;i++)a.push('x'.repeat(i%99));console.log(a.join().length)"},
                20000},
        Program{"perl", {"perl", "-e", "my %h; $h{$_} = 'x' x $_ for 1..2000; print scalar(keys %h), qq(\\n)"}, 4000},
        Program{"ruby", {"ruby", "-e", "puts (1..20000).map { |i| 'x' * (i % 100) }.join.size"}, 10000},
        Program{"git", {"git", "--version"}, 1},
        Program{"sqlite3",
                {"sqlite3", ":memory:",
                 "create table t(a, b); with recursive c(x) as (select 1 union all select x + 1 from c where x < 9000) "
                 "insert into t select x, hex(x) from c; select count(*), sum(length(b)) from t;"},
                9000},
        Program{"compiler", {"sh", "-c", "echo '#include <map>\nstd::map<int, int> m;' | g++ -x c++ -S -o - - | wc -l"}, 50000},
        Program{"java", {"java", "-version"}, 3000},
        Program{"pipelines", {"bash", "-c", "for i in 1 2 3 4 5; do echo $i | sed s/1/2/ | sort; done | tail -3"}, 1000}),
    [](const testing::TestParamInfo<Program>& info) { return info.param.name; });

TEST_F(RecordedTest, AServerUnderLoadThatIsStopped) {
  if (!Installed("redis-server")) GTEST_SKIP() << "redis-server is not installed";
  const std::string socket = absl::StrCat("/tmp/heaptape_test.", getpid());  // paths of sockets must be short
  std::thread load([&socket] {
    for (int i = 0; i < 100 && !std::filesystem::exists(socket); ++i) {
      std::this_thread::sleep_for(std::chrono::milliseconds(100));
    }
    RunProgram({"sh", "-c", absl::StrCat("for i in $(seq 3000); do echo SET key$i value$i; echo GET key$i; done | "
                                         "redis-cli -s ", socket, " >/dev/null; redis-cli -s ", socket, " BGSAVE; "
                                         "sleep 0.5; redis-cli -s ", socket, " SHUTDOWN NOSAVE")});
  });
  const ProgramResult result = Record({"redis-server", "--port", "0", "--unixsocket", socket, "--dir", directory_, "--save", ""});
  load.join();
  EXPECT_EQ(result.exit_code, 0) << result.error;
  for (const std::string& path : Traces()) {
    const Trace trace = ReadTrace(path);
    EXPECT_TRUE(trace.health.complete) << path;
    EXPECT_EQ(FindContradictions(trace.events).live_twice, 0) << path;
    // Debian's server has jemalloc linked in as a library, under malloc's name.
    if (!trace.header.has_fork()) {
      EXPECT_GT(trace.calls(), 3000u) << trace.header.allocator();
    }
  }
}

}  // namespace
}  // namespace heaptape
