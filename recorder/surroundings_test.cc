// Programs in hostile surroundings, recorded for real: they behave as they do
// without us, and the trace says what it lacks. README.md has the list of what
// other recorders have broken; each row that can be tested has its test here or
// in record_test.cc.

#include <signal.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdint>
#include <filesystem>
#include <fstream>
#include <map>
#include <string>
#include <thread>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "gtest/gtest.h"
#include "recorder/collector/image.h"
#include "recorder/recorded.h"
#include "testdata/run_program.h"

namespace heaptape {
namespace {

class SurroundingsTest : public RecordedTest {
 protected:
  // Records `surroundings NAME` and expects what it does without us.
  Trace RecordSurroundings(const std::string& name, int exit_code = 0) {
    const ProgramResult result = Record({std::filesystem::absolute(kPrograms + "surroundings"), name});
    EXPECT_EQ(result.exit_code, exit_code) << name << ": " << result.error;
    EXPECT_EQ(result.out, "");
    Trace trace = ReadTrace(trace_path_);
    EXPECT_TRUE(trace.health.complete) << absl::StrJoin(trace.health.problems, "\n");
    EXPECT_EQ(FindContradictions(trace.events).live_twice, 0) << name;
    return trace;
  }
};

TEST_F(SurroundingsTest, ClosedDescriptorsAndTheProgramsOwnFiles) {
  EXPECT_GT(RecordSurroundings("closed_descriptors").calls(), 400000u);
  std::ifstream file("data.txt");
  std::string text;
  std::getline(file, text);
  EXPECT_EQ(text, "mine");
}

TEST_F(SurroundingsTest, StrictSeccomp) { EXPECT_GT(RecordSurroundings("strict_seccomp").calls(), 7000u); }
TEST_F(SurroundingsTest, SmallStacks) { EXPECT_GT(RecordSurroundings("small_stack").calls(), 4000000u); }
TEST_F(SurroundingsTest, AlternateStacks) { EXPECT_GE(RecordSurroundings("alternate_stack").calls(), 40000u); }
TEST_F(SurroundingsTest, Coroutines) { EXPECT_GE(RecordSurroundings("coroutines").calls(), 200000u); }
TEST_F(SurroundingsTest, OtherNamespaces) { EXPECT_GE(RecordSurroundings("other_namespace").calls(), 2000u); }
TEST_F(SurroundingsTest, DeepBindingIsSeenAsFreesOfUnknownBlocks) {
  const ProgramResult result = Record({std::filesystem::absolute(kPrograms + "surroundings"), "deep_binding"});
  EXPECT_EQ(result.exit_code, 0) << result.error;
  const Contradictions found = FindContradictions(ReadTrace(trace_path_).events);
  EXPECT_GE(found.orphan_frees, 50);  // the plug-in's blocks, freed by its host
  const ProgramResult replay = RunProgram({kHeaptape, "replay", trace_path_, "--format=json"});
  EXPECT_EQ(replay.exit_code, 0) << replay.error;
  EXPECT_TRUE(absl::StrContains(replay.out, absl::StrCat("\"orphan_frees\": ", found.orphan_frees))) << replay.out;
}

// The same pid again, in a namespace of its own: neither trace is overwritten.
TEST_F(SurroundingsTest, PidsThatAreUsedAgain) {
  const std::vector<std::string> command = {"unshare", "-p", "-f", "--mount-proc", kPrograms + "every_call"};
  if (RunProgram(command).exit_code != 7) GTEST_SKIP() << "cannot make a pid namespace here";
  for (int run = 0; run < 2; ++run) EXPECT_EQ(Record(command).exit_code, 7);
  int found = 0;
  for (const std::string& path : Traces()) {
    const Trace trace = ReadTrace(path);
    EXPECT_TRUE(trace.health.complete) << path;
    if (trace.header.program() != "every_call") continue;
    ++found;
    EXPECT_EQ(trace.header.pid(), 1);
  }
  EXPECT_EQ(found, 2);
}

// Nothing but the session can be written to.
TEST_F(SurroundingsTest, ReadOnlyRoot) {
  const std::string mounts = absl::StrCat("mount --bind ", directory_, " ", directory_,
                                          " && mount -o remount,bind,ro / && exec ");
  if (RunProgram({"unshare", "-m", "sh", "-c", mounts + "true"}).exit_code != 0) {
    GTEST_SKIP() << "cannot make the root read-only here";
  }
  const ProgramResult result = RunProgram({"unshare", "-m", "sh", "-c",
                                           absl::StrCat(mounts, kHeaptape, " record -o ", trace_path_, " -- ", kPrograms,
                                                        "threads 2 20000")});
  EXPECT_EQ(result.exit_code, 0) << result.error;
  EXPECT_TRUE(ReadTrace(trace_path_).health.complete);
}

TEST_F(SurroundingsTest, ErrnoIsKept) { EXPECT_GE(RecordSurroundings("errno_is_kept").calls(), 250000u); }
TEST_F(SurroundingsTest, BlocksAreAsLargeAsTheAllocatorSays) { RecordSurroundings("greedy"); }
TEST_F(SurroundingsTest, Abort) { EXPECT_EQ(RecordSurroundings("abort", 128 + SIGABRT).footer.end(), "signal 6"); }
TEST_F(SurroundingsTest, ExitWithoutDestructors) { EXPECT_GE(RecordSurroundings("exit_at_once").calls(), 20000u); }

TEST_F(SurroundingsTest, ChangedRoot) {
  if (geteuid() != 0) GTEST_SKIP() << "chroot needs root";
  EXPECT_GE(RecordSurroundings("changed_root").calls(), 800000u);
}

TEST_F(SurroundingsTest, ForksPastLibcAreImagesOfTheirOwn) {
  RecordSurroundings("forks_past_libc");
  EXPECT_EQ(Traces().size(), 51u);
}

TEST_F(SurroundingsTest, DaemonsAreRecordedInTheBackground) {
  const ProgramResult result = Record({std::filesystem::absolute(kPrograms + "surroundings"), "daemon"});
  EXPECT_EQ(result.exit_code, 0) << result.error;
  for (int i = 0; i < 100; ++i) {
    uint64_t calls = 0;
    for (const std::string& path : Traces()) {
      const Trace trace = ReadTrace(path);
      if (trace.health.complete) calls += trace.calls();
    }
    if (calls > 200000) return;
    std::this_thread::sleep_for(std::chrono::milliseconds(100));
  }
  for (const std::string& path : Traces()) {
    const Trace trace = ReadTrace(path);
    ADD_FAILURE() << path << ": " << trace.calls() << " calls, " << (trace.health.complete ? "complete" : "not complete");
  }
  FAIL() << "the daemon's calls never came: " << result.error;
}

// Two libraries preloaded, in both orders.
TEST_F(SurroundingsTest, LibrariesThatAllocateBeforeAndFreeAfterUs) {
  const std::string ours = std::filesystem::canonical(kInterposer);
  for (const char* library : {"liblate_frees.so", "libearly_resolver.so"}) {
    const std::string other = std::filesystem::absolute(kPrograms + library);
    for (const std::string& preload : {ours + ":" + other, other + ":" + ours}) {
      const ProgramResult result = Record({"env", "LD_PRELOAD=" + preload, kPrograms + "every_call"});
      EXPECT_EQ(result.exit_code, 7) << preload << result.error;
      const Trace trace = TraceOf("every_call");
      const Contradictions found = FindContradictions(trace.events);
      EXPECT_EQ(found.live_twice, 0) << preload;
      EXPECT_EQ(found.orphan_frees, 0) << preload;
      EXPECT_EQ(found.live_at_end, 0u) << preload;
      if (absl::StrContains(library, "late")) {
        EXPECT_GE(trace.calls(), 20000u) << preload;
      }
      RemoveTraces();
    }
  }
}

TEST_F(SurroundingsTest, AnAuditLibrary) {
  const std::string other = std::filesystem::absolute(kPrograms + "liblate_frees.so");
  const std::vector<std::string> command = {"env", "LD_AUDIT=" + other, kPrograms + "every_call"};
  const ProgramResult bare = RunProgram(command);
  const ProgramResult result = Record(command);
  EXPECT_EQ(result.exit_code, bare.exit_code) << result.error;
}

TEST_F(SurroundingsTest, AnEmptyEnvironmentAndNoSession) {
  const std::string ours = std::filesystem::canonical(kInterposer);
  EXPECT_EQ(RunProgram({"env", "-i", "LD_PRELOAD=" + ours, kPrograms + "every_call"}).exit_code, 7);
  // A session that cannot be made, or is no directory: the program runs.
  for (const char* session : {"relative", "/proc/nowhere", "/dev/null", ""}) {
    EXPECT_EQ(RunProgram({"env", "-i", "LD_PRELOAD=" + ours, absl::StrCat("HEAPTAPE_SESSION=", session),
                          kPrograms + "every_call"}).exit_code, 7);
  }
}

// Started with nothing but two variables, collected afterwards.
TEST_F(SurroundingsTest, WithoutACollector) {
  const std::string session = directory_ + "/session";
  const std::vector<std::string> environment = {"LD_PRELOAD=" + std::filesystem::canonical(kInterposer).string(),
                                                "HEAPTAPE_SESSION=" + session};
  std::vector<std::string> command = {"env"};
  command.insert(command.end(), environment.begin(), environment.end());
  command.insert(command.end(), {kPrograms + "threads", "4", "20000"});
  ASSERT_EQ(RunProgram(command).exit_code, 0);
  struct stat info;
  ASSERT_EQ(stat(session.c_str(), &info), 0);
  EXPECT_EQ(info.st_mode & 0777, 0700u);

  const ProgramResult collected = RunProgram({kHeaptape, "collect", session, "-o", trace_path_});
  EXPECT_EQ(collected.exit_code, 0) << collected.error;
  const Trace trace = ReadTrace(trace_path_);
  EXPECT_TRUE(trace.health.complete) << absl::StrJoin(trace.health.problems, "\n");
  EXPECT_EQ(FindContradictions(trace.events).live_twice, 0);
  EXPECT_GT(trace.calls(), 300000u);
  EXPECT_FALSE(std::filesystem::exists(session));
}

// The test plays a collector that makes one spool ahead and is never seen again.
TEST_F(SurroundingsTest, ASpoolThatWasMadeAheadIsTaken) {
  const std::string session = directory_ + "/session";
  const std::string counter = directory_ + "/counter";
  const std::string interposer = std::filesystem::canonical(kInterposer);
  const pid_t program = fork();
  if (program == 0) {
    setenv("LD_PRELOAD", interposer.c_str(), 1);
    setenv("HEAPTAPE_SESSION", session.c_str(), 1);
    execl((kPrograms + "count_until_killed").c_str(), "count_until_killed", counter.c_str(), nullptr);
    _exit(127);
  }
  std::string path;
  ino_t made = 0;
  const auto inode = [&] {
    struct stat info;
    return stat(path.c_str(), &info) == 0 ? info.st_ino : 0;
  };
  uint32_t next = 0;
  for (int attempt = 0; made == 0 && attempt < 1000; ++attempt) {
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
    kill(program, SIGSTOP);
    waitpid(program, nullptr, WUNTRACED);
    for (const std::string& directory : ListImages(session)) {
      const auto image = Image::Open(directory);
      if (!image.ok()) continue;
      next = (*image)->spool_count();
      path = absl::StrCat(directory, "/spool.", next);
      if (inode() != 0) continue;  // the program is just making it
      (*image)->MakeSpoolAhead(uint64_t{1} << 30);
      made = inode();
    }
    kill(program, SIGCONT);
  }
  EXPECT_NE(made, 0u);
  // It goes on with one of its own.
  const std::string own = absl::StrCat(path.substr(0, path.rfind('.') + 1), next + 1);
  for (int ms = 0; !std::filesystem::exists(own) && ms < 5000; ++ms) {
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
  EXPECT_EQ(inode(), made);
  EXPECT_TRUE(std::filesystem::exists(own));
  kill(program, SIGKILL);
  waitpid(program, nullptr, 0);
  const uint64_t calls = ReadCounter(counter);
  const ProgramResult collected = RunProgram({kHeaptape, "collect", session, "-o", trace_path_});
  EXPECT_EQ(collected.exit_code, 0) << collected.error;
  const Trace trace = ReadTrace(trace_path_);
  EXPECT_TRUE(trace.health.complete) << absl::StrJoin(trace.health.problems, "\n");
  EXPECT_GE(trace.calls(), calls);
  EXPECT_LE(trace.calls(), calls + 1);
}

// Both killed at once, or the collector alone and the program later: the next
// collector goes on with the same trace, and it holds every call that returned.
TEST_F(SurroundingsTest, KilledCollectorsLoseNothing) {
  const std::string counter = directory_ + "/counter";
  for (const bool both : {true, false}) {
    const pid_t recorder = fork();
    if (recorder == 0) {
      setpgid(0, 0);
      execl(kHeaptape, kHeaptape, "record", "--buffer=2M", "-o", trace_path_.c_str(), "--",
            (kPrograms + "count_until_killed").c_str(), counter.c_str(), nullptr);
      _exit(127);
    }
    std::this_thread::sleep_for(std::chrono::milliseconds(700));
    if (both) {
      kill(-recorder, SIGKILL);
    } else {
      kill(recorder, SIGKILL);
      std::this_thread::sleep_for(std::chrono::milliseconds(300));
      kill(-recorder, SIGKILL);
    }
    waitpid(recorder, nullptr, 0);
    std::this_thread::sleep_for(std::chrono::milliseconds(100));
    const uint64_t calls = ReadCounter(counter);
    std::string session;
    for (const auto& entry : std::filesystem::directory_iterator(directory_)) {
      if (absl::StrContains(entry.path().string(), "session")) session = entry.path();
    }
    ASSERT_FALSE(session.empty());
    const ProgramResult collected = RunProgram({kHeaptape, "collect", session, "-o", directory_ + "/other.heaptape"});
    EXPECT_EQ(collected.exit_code, 0) << collected.error;
    const Trace trace = ReadTrace(trace_path_);
    EXPECT_TRUE(trace.health.complete) << absl::StrJoin(trace.health.problems, "\n");
    EXPECT_GE(trace.calls(), calls);
    EXPECT_LE(trace.calls(), calls + 1);
    EXPECT_EQ(FindContradictions(trace.events).live_twice, 0);
    EXPECT_EQ(Traces().size(), 1u);
    RemoveTraces();
  }
}

TEST_F(SurroundingsTest, OutOfMemoryKill) {
  const bool old = std::filesystem::exists("/sys/fs/cgroup/memory");
  const std::string group = old ? "/sys/fs/cgroup/memory/heaptape_test" : "/sys/fs/cgroup/heaptape_test";
  const std::string limit_file = group + (old ? "/memory.limit_in_bytes" : "/memory.max");
  std::error_code error;
  std::filesystem::create_directory(group, error);
  std::ofstream(limit_file) << "100663296";
  std::string limit;
  std::getline(std::ifstream(limit_file), limit);
  if (limit != "100663296") GTEST_SKIP() << "no memory control group can be made here";
  // The shell moves itself, and what it starts, into the group.
  const ProgramResult result =
      Record({"sh", "-c", absl::StrCat("echo $$ > ", group, "/cgroup.procs; exec /usr/bin/python3 -c 'x = []\n"
                                       "while True: x.append(bytes(10000))'")});
  std::filesystem::remove(group, error);
  EXPECT_EQ(result.exit_code, 128 + SIGKILL) << result.error;
  for (const std::string& path : Traces()) {
    const Trace trace = ReadTrace(path);
    EXPECT_TRUE(trace.health.complete) << path;
    if (!absl::StartsWith(trace.header.program(), "python")) continue;
    EXPECT_EQ(trace.footer.end(), "signal 9");
    EXPECT_GT(trace.calls(), 5000u);
    EXPECT_EQ(trace.header.cgroup_memory_limit_bytes(), 96u << 20);
  }
}

// Each is an image of its own, also where an earlier one is finished meanwhile.
TEST_F(SurroundingsTest, AChainOfExecsIsRecordedWhole) {
  const ProgramResult result = Record({"sh", "-c",
      "n=$1; test $n -eq 0 && exec ls /dev/null; sleep 0.03; exec sh -c \"$0\" \"$0\" $((n - 1))",
      "n=$1; test $n -eq 0 && exec ls /dev/null; sleep 0.03; exec sh -c \"$0\" \"$0\" $((n - 1))", "12"});
  EXPECT_EQ(result.out, "/dev/null\n") << result.error;
  EXPECT_FALSE(absl::StrContains(result.error, "could not be written")) << result.error;
  EXPECT_GE(TraceOf("ls").calls(), 10u);
  for (const std::string& path : Traces()) EXPECT_TRUE(ReadTrace(path).health.complete) << path;
}

TEST_F(SurroundingsTest, FollowNoneLeavesChildrenAlone) {
  const ProgramResult result =
      Record({"sh", "-c", "echo $LD_PRELOAD; python3 -c 'import os; print(os.environ.get(\"LD_PRELOAD\"))'"},
             {"--follow=none"}, {});
  EXPECT_EQ(result.exit_code, 0);
  EXPECT_FALSE(absl::StrContains(result.out, "libheaptape")) << result.out;
  EXPECT_EQ(Traces().size(), 1u);
}

TEST_F(SurroundingsTest, WhatCannotBeRecordedIsExplained) {
  const std::string program = directory_ + "/static";
  std::ofstream(directory_ + "/s.c") << "int main(void) { return 4; }\n";
  if (RunProgram({"gcc", "-static", "-o", program, directory_ + "/s.c"}).exit_code != 0) {
    GTEST_SKIP() << "cannot link statically here";
  }
  ProgramResult result = Record({program});
  EXPECT_EQ(result.exit_code, 4);
  EXPECT_TRUE(absl::StrContains(result.error, "statically linked")) << result.error;

  const std::string setuid = directory_ + "/setuid";
  std::filesystem::copy_file("/bin/true", setuid);
  if (geteuid() != 0 || chown(setuid.c_str(), 1, 1) != 0 || chmod(setuid.c_str(), 04755) != 0) return;
  result = Record({setuid});
  EXPECT_EQ(result.exit_code, 0);
  EXPECT_TRUE(absl::StrContains(result.error, "setuid")) << result.error;
}

// It runs as if we were not there, but for the line in which its linker says that.
TEST_F(SurroundingsTest, A32BitProgramIsLeftAloneAndExplained) {
  const std::string program = directory_ + "/program32";
  std::ofstream(directory_ + "/p.c") << "#include <stdlib.h>\nint main(void) { free(malloc(100)); return sizeof(void*); }\n";
  if (RunProgram({"gcc", "-m32", "-o", program, directory_ + "/p.c"}).exit_code != 0) {
    GTEST_SKIP() << "cannot make a 32-bit program here";
  }
  ProgramResult result = Record({program});
  EXPECT_EQ(result.exit_code, 4);
  EXPECT_TRUE(absl::StrContains(result.error, "it is a 32-bit program")) << result.error;
  EXPECT_TRUE(Traces().empty());

  // As a child, with another child behind it.
  result = Record({"sh", "-c", program + "; test $? = 4 && ls /dev/null"});
  EXPECT_EQ(result.exit_code, 0);
  EXPECT_EQ(result.out, "/dev/null\n");
  EXPECT_GE(TraceOf("ls").calls(), 10u);
}

TEST_F(SurroundingsTest, TrapIsRaisedAtTheCall) {
  for (const std::string trap : {"--trap=memalign:65", "--trap=realloc:100000", "--trap=5"}) {
    const ProgramResult result = Record({kPrograms + "every_call"}, {trap});
    EXPECT_EQ(result.exit_code, 128 + SIGTRAP) << trap << result.error;
    const Trace trace = ReadTrace(trace_path_);
    EXPECT_TRUE(trace.health.complete);
    if (trap == "--trap=5") {
      EXPECT_EQ(trace.events.size(), 4u);  // it is raised before the call is logged
    }
    RemoveTraces();
  }
}

TEST_F(SurroundingsTest, AForkedChildReplaysFromItsParentsHeap) {
  const ProgramResult result = Record({"/usr/bin/python3.11", "-c",
                                       "import os\n"
                                       "kept = [bytes(5000 + i) for i in range(3000)]\n"
                                       "if os.fork() == 0:\n"
                                       "    more = [bytes(7000) for i in range(100)]\n"
                                       "    os._exit(0)\n"
                                       "os.wait()\n"});
  ASSERT_EQ(result.exit_code, 0) << result.error;
  ASSERT_EQ(Traces().size(), 2u);
  bool found = false;
  std::map<int, uint64_t> started;  // by pid
  for (const std::string& path : Traces()) {
    const Header header = ReadTrace(path).header;
    started[header.pid()] = header.start_time_ticks();
  }
  for (const std::string& path : Traces()) {
    const Trace trace = ReadTrace(path);
    const Contradictions contradictions = FindContradictions(trace.events);
    EXPECT_EQ(contradictions.live_twice, 0) << path;
    if (!trace.header.has_fork()) continue;
    found = true;
    EXPECT_EQ(started.count(trace.header.fork().parent_pid()), 1u);
    EXPECT_EQ(trace.header.fork().parent_start_time_ticks(), started[trace.header.fork().parent_pid()]);
    EXPECT_EQ(contradictions.orphan_frees, 0);
    EXPECT_GT(trace.header.fork().live_blocks(), 3000u);
    const ProgramResult replay = RunProgram({kHeaptape, "replay", path, "--format=json"});
    EXPECT_EQ(replay.exit_code, 0) << replay.error;
    EXPECT_TRUE(absl::StrContains(replay.out, "\"orphan_frees\": 0")) << replay.out;
  }
  EXPECT_TRUE(found);
}

}  // namespace
}  // namespace heaptape
