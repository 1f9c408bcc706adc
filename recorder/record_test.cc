// Programs recorded for real, from the command line to the trace.

#include <fcntl.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdint>
#include <filesystem>
#include <fstream>
#include <map>
#include <sstream>
#include <set>
#include <string>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "gtest/gtest.h"
#include "proto/event.h"
#include "proto/trace_reader.h"
#include "recorder/recorded.h"
#include "testdata/run_program.h"

namespace heaptape {
namespace {

using RecordTest = RecordedTest;

TEST_F(RecordTest, EveryCallIsThereAsItWas) {
  const ProgramResult result = Record({kPrograms + "every_call"});
  EXPECT_EQ(result.exit_code, 7) << result.error;
  EXPECT_EQ(result.out, "");
  EXPECT_TRUE(absl::StrContains(result.error, "lost 0")) << result.error;

  const Trace trace = ReadTrace(trace_path_);
  EXPECT_TRUE(trace.health.complete) << absl::StrJoin(trace.health.problems, "\n");
  std::map<EventKind, int> counts = trace.counts();
  EXPECT_EQ(counts[EventKind::kMalloc], 4);        // m, big, the one that failed, zero
  EXPECT_EQ(counts[EventKind::kCalloc], 2);
  EXPECT_EQ(counts[EventKind::kRealloc], 5);       // r twice, ra, the one that failed, ra to 0
  EXPECT_EQ(counts[EventKind::kMemalign], 1);
  EXPECT_EQ(counts[EventKind::kAlignedAlloc], 1);
  EXPECT_EQ(counts[EventKind::kPosixMemalign], 2);
  EXPECT_EQ(counts[EventKind::kValloc], 1);
  EXPECT_EQ(counts[EventKind::kPvalloc], 1);
  EXPECT_EQ(counts[EventKind::kFree], 10);
  EXPECT_EQ(counts[EventKind::kMallopt], 1);
  EXPECT_EQ(counts[EventKind::kMallocTrim], 1);
  EXPECT_EQ(counts[EventKind::kThreadStart], 1);
  EXPECT_EQ(trace.events.size(), 30u);

  std::map<EventKind, Event> last;
  for (const Event& event : trace.events) {
    if (event.address != 0) last[event.kind] = event;
  }
  EXPECT_EQ(last[EventKind::kMemalign].alignment_log2, 6);
  EXPECT_EQ(last[EventKind::kMemalign].size, 65u);
  EXPECT_EQ(last[EventKind::kAlignedAlloc].alignment_log2, 7);
  EXPECT_EQ(last[EventKind::kPosixMemalign].alignment_log2, 12);
  EXPECT_EQ(last[EventKind::kValloc].size, 33u);
  EXPECT_EQ(last[EventKind::kPvalloc].size, 34u);
  EXPECT_EQ(last[EventKind::kMallopt].size, static_cast<uint32_t>(-3));
  EXPECT_EQ(last[EventKind::kMallopt].old_address, 65536u);
  const Contradictions found = FindContradictions(trace.events);
  EXPECT_EQ(found.live_twice, 0);
  EXPECT_EQ(found.orphan_frees, 0);
  EXPECT_EQ(found.live_at_end, 0u);
}

TEST_F(RecordTest, TheHeaderSaysWhoWasRecorded) {
  ASSERT_EQ(Record({kPrograms + "every_call", "an argument", "\xff not text"}, {}, {"GLIBC_TUNABLES=glibc.malloc.tcache_count=3"}).exit_code,
            7);
  const Header header = ReadTrace(trace_path_).header;
  EXPECT_EQ(header.program(), "every_call");
  ASSERT_EQ(header.command_line_size(), 3);
  EXPECT_EQ(header.command_line(1), "an argument");
  EXPECT_EQ(header.command_line(2), "\\xff not text");
  EXPECT_GT(header.pid(), 1);
  EXPECT_GT(header.start_time_ticks(), 0u);
  EXPECT_GE(header.cpus(), 1u);
  EXPECT_EQ(header.page_bytes(), 4096u);
  EXPECT_EQ(header.allocator(), "glibc");
  EXPECT_FALSE(header.glibc_version().empty());
  EXPECT_EQ(header.glibc_build_id().size(), 40u);
  EXPECT_FALSE(header.boot_id().empty());
  const std::string environment = absl::StrJoin(header.environment(), "\n");
  EXPECT_TRUE(absl::StrContains(environment, "GLIBC_TUNABLES=glibc.malloc.tcache_count=3")) << environment;
}

TEST_F(RecordTest, ExitsAsTheCommandDoes) {
  EXPECT_EQ(Record({"sh", "-c", "exit 37"}).exit_code, 37);
  EXPECT_EQ(Record({"sh", "-c", "kill -SEGV $$"}).exit_code, 128 + SIGSEGV);
  EXPECT_EQ(Record({"sh", "-c", "kill -KILL $$"}).exit_code, 128 + SIGKILL);
  const ProgramResult result = Record({"/no/such/program"});
  EXPECT_EQ(result.exit_code, 1);
  EXPECT_TRUE(absl::StrContains(result.error, "/no/such/program")) << result.error;
}

TEST_F(RecordTest, ThreadsNeverContradictEachOther) {
  for (const char* arenas : {"MALLOC_ARENA_MAX=1", "MALLOC_ARENA_MAX=64"}) {
    std::filesystem::remove(trace_path_);
    const ProgramResult result = Record({kPrograms + "threads", "8", "30000"}, {}, {arenas});
    ASSERT_EQ(result.exit_code, 0) << result.error;
    const Trace trace = ReadTrace(trace_path_);
    EXPECT_TRUE(trace.health.complete);
    std::map<EventKind, int> counts = trace.counts();
    EXPECT_EQ(counts[EventKind::kThreadStart], 17);
    EXPECT_EQ(counts[EventKind::kThreadEnd], 16);
    const Contradictions found = FindContradictions(trace.events);
    EXPECT_EQ(found.live_twice, 0);
    EXPECT_EQ(found.orphan_frees, 0);
  }
}

TEST_F(RecordTest, ManyThreadsFitIntoASmallBuffer) {
  const ProgramResult result = Record({kPrograms + "threads", "200", "500"}, {"--buffer=1M"});
  ASSERT_EQ(result.exit_code, 0) << result.error;
  const Trace trace = ReadTrace(trace_path_);
  EXPECT_TRUE(trace.health.complete);
  std::map<EventKind, int> counts = trace.counts();
  EXPECT_EQ(counts[EventKind::kThreadStart], 401);
  EXPECT_EQ(FindContradictions(trace.events).live_twice, 0);
}

// The counts of an allocator behind ours are those without us, and those in the
// trace: we make no call of our own, and miss none.
TEST_F(RecordTest, TheInterposerAllocatesNothing) {
  const std::string counting = std::filesystem::absolute(kPrograms + "libcounting_malloc.so");
  const auto counts = [&](const std::string& name) {
    std::ifstream file(directory_ + "/" + name);
    std::string line;
    std::getline(file, line);
    return line;
  };
  const std::map<std::string, std::vector<std::string>> commands = {
      {"every_call", {kPrograms + "every_call"}},
      {"threads", {kPrograms + "threads", "1", "20000"}},
      {"python3.11", {"/usr/bin/python3.11", "-S", "-c", "import json; json.dumps(list(range(20000)))"}},
  };
  for (const auto& [program, command] : commands) {
    std::vector<std::string> bare = {"env", "LD_PRELOAD=" + counting};
    bare.insert(bare.end(), command.begin(), command.end());
    RunProgram(bare, {"PYTHONHASHSEED=1", absl::StrCat("COUNTS=", directory_, "/bare.", program)});
    RecordBefore(counting, command, {"PYTHONHASHSEED=1", absl::StrCat("COUNTS=", directory_, "/recorded.", program)});
    ASSERT_FALSE(counts("bare." + program).empty());
    EXPECT_EQ(counts("bare." + program), counts("recorded." + program)) << program;

    const Trace trace = TraceOf(program);
    EXPECT_TRUE(absl::EndsWith(trace.header.allocator(), "libcounting_malloc.so"));
    std::map<EventKind, int> events = trace.counts();
    EXPECT_EQ(counts("recorded." + program),
              absl::StrFormat("malloc %d free %d calloc %d realloc %d aligned %d", events[EventKind::kMalloc],
                              events[EventKind::kFree], events[EventKind::kCalloc], events[EventKind::kRealloc],
                              events[EventKind::kMemalign] + events[EventKind::kAlignedAlloc] +
                                  (program == "every_call" ? 1 : 0)));  // posix_memalign, once of twice
  }
}

// Killed at any moment, the trace holds every call that had returned.
TEST_F(RecordTest, SigkillLosesNothing) {
  for (int run = 0; run < 5; ++run) {
    std::filesystem::remove(trace_path_);
    const std::string counter = directory_ + "/counter";
    const ProgramResult result = Record({"sh", "-c",
                                         absl::StrCat(kPrograms, "count_until_killed ", counter, " & sleep 0.",
                                                      2 + run, "1; kill -KILL $!; wait $!")});
    EXPECT_EQ(result.exit_code, 128 + SIGKILL) << result.error;
    const uint64_t calls = ReadCounter(counter);
    ASSERT_GT(calls, 1000u);
    for (const std::string& path : Traces()) {
      const Trace trace = ReadTrace(path);
      if (trace.header.program() != "count_until_killed") continue;
      EXPECT_TRUE(trace.health.complete);
      // The one more may have been logged and not yet counted.
      EXPECT_GE(trace.calls(), calls);
      EXPECT_LE(trace.calls(), calls + 1);
      std::filesystem::remove(path);
    }
  }
}

TEST_F(RecordTest, SignalHandlersLoseNothing) {
  const std::string bump = std::filesystem::absolute(kPrograms + "libbump_malloc.so");
  const std::string counter = directory_ + "/counter";
  const ProgramResult result = RecordBefore(bump, {kPrograms + "signals", counter});
  ASSERT_EQ(result.exit_code, 0) << result.error;
  const Trace trace = TraceOf("signals");
  EXPECT_TRUE(trace.health.complete);
  EXPECT_EQ(trace.calls(), ReadCounter(counter));
}

TEST_F(RecordTest, JumpingOutOfAHandlerLosesAtMostWhatItInterrupted) {
  const std::string bump = std::filesystem::absolute(kPrograms + "libbump_malloc.so");
  const std::string counter = directory_ + "/counter";
  // Each jump may cost a segment that nobody can have again: with a small buffer
  // they are soon all gone, and the program must not wait for them.
  const ProgramResult result = RecordBefore(bump, {kPrograms + "signals", counter, "jump"}, {}, {"--buffer=1M"});
  ASSERT_EQ(result.exit_code, 0) << result.error;
  const Trace trace = TraceOf("signals");
  EXPECT_TRUE(trace.health.complete);
  EXPECT_GE(trace.calls(), ReadCounter(counter));
  EXPECT_LE(trace.calls(), ReadCounter(counter) + 500);  // one a jump
}

TEST_F(RecordTest, ChildrenOfEveryKindRunUntouched) {
  const std::string program = std::filesystem::absolute(kPrograms + "children");
  const ProgramResult bare = RunProgram({program});
  ASSERT_EQ(bare.exit_code, 3) << bare.error;
  const ProgramResult result = Record({program});
  EXPECT_EQ(result.exit_code, 3) << result.error;
  EXPECT_EQ(result.out, bare.out);
  EXPECT_FALSE(Traces().empty());
  for (const std::string& path : Traces()) {
    const Trace trace = ReadTrace(path);
    EXPECT_TRUE(trace.health.complete) << path << absl::StrJoin(trace.health.problems, "\n");
    EXPECT_EQ(FindContradictions(trace.events).live_twice, 0) << path;
  }
}

TEST_F(RecordTest, AFullDiskStopsTheRecordingAndNotTheProgram) {
  const std::string disk = directory_ + "/disk";
  std::filesystem::create_directory(disk);
  const ProgramResult mounted = RunProgram({"mount", "-t", "tmpfs", "-o", "size=3M", "none", disk});
  if (mounted.exit_code != 0) GTEST_SKIP() << "cannot mount a tmpfs here: " << mounted.error;
  const std::string path = disk + "/t.heaptape";
  const ProgramResult result =
      RunProgram({kHeaptape, "record", "-o", path, "--", kPrograms + "threads", "2", "2000000"});
  EXPECT_EQ(result.exit_code, 0) << result.error;
  EXPECT_TRUE(absl::StrContains(result.error, "space")) << result.error;
  const Trace trace = ReadTrace(path);
  EXPECT_GT(trace.events.size(), 1000u);
  EXPECT_EQ(FindContradictions(trace.events).live_twice, 0);
  RunProgram({"umount", disk});
}

// What may be needed where: libc alone, bound early, no TLS that is allocated.
TEST(InterposerTest, NeedsLibcAlone) {
  const std::string dynamic = RunProgram({"readelf", "-dW", kInterposer}).out;
  for (const std::string& line : std::vector<std::string>(absl::StrSplit(dynamic, '\n'))) {
    if (!absl::StrContains(line, "(NEEDED)")) continue;
    EXPECT_TRUE(absl::StrContains(line, "libc.so.6") || absl::StrContains(line, "ld-linux")) << line;
  }
  EXPECT_TRUE(absl::StrContains(dynamic, "NOW")) << dynamic;
}

TEST(InterposerTest, HasLittleTlsAndNoneThatIsAllocated) {
  const std::string relocations = RunProgram({"readelf", "-rW", kInterposer}).out;
  EXPECT_FALSE(absl::StrContains(relocations, "DTPMOD")) << relocations;
  EXPECT_TRUE(absl::StrContains(relocations, "TPOFF"));
  const std::string segments = RunProgram({"readelf", "-lW", kInterposer}).out;
  const size_t tls = segments.find("  TLS ");
  ASSERT_NE(tls, std::string::npos);
  uint64_t offset, address, physical, file_bytes, memory_bytes;
  ASSERT_EQ(sscanf(segments.c_str() + tls, "  TLS %lx %lx %lx %lx %lx", &offset, &address, &physical, &file_bytes,
                   &memory_bytes),
            5);
  EXPECT_LE(memory_bytes, 64u);
}

TEST(InterposerTest, CallsOnlyWhatItMay) {
  const std::string undefined = RunProgram({"nm", "-D", "--undefined-only", kInterposer}).out;
  const std::set<std::string> allowed = {
      "_ITM_deregisterTMCloneTable", "_ITM_registerTMCloneTable", "__cxa_finalize", "__errno_location",
      "__gmon_start__", "__register_atfork", "_r_debug", "environ", "gnu_get_libc_version", "pthread_key_create", "pthread_key_delete",
      "pthread_setspecific"};
  std::istringstream lines(undefined);
  for (std::string kind, name; lines >> kind >> name;) {
    EXPECT_EQ(allowed.count(name.substr(0, name.find('@'))), 1u) << name;
  }
}

}  // namespace
}  // namespace heaptape
