// What tests of the recorder share: recording a program, reading its trace, and
// looking for contradictions in it.
//
// Mainland, tests alone. Files are named as in the tree that Bazel lays out for
// tests.

#ifndef HEAPTAPE_RECORDER_RECORDED_H_
#define HEAPTAPE_RECORDER_RECORDED_H_

#include <cstdint>
#include <filesystem>
#include <fstream>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "gtest/gtest.h"
#include "proto/event.h"
#include "proto/trace_reader.h"
#include "testdata/run_program.h"

namespace heaptape {

inline constexpr char kHeaptape[] = "tools/heaptape";
inline constexpr char kInterposer[] = "recorder/interposer/libheaptape.so";
inline const std::string kPrograms = "testdata/programs/";

struct Trace {
  Header header;
  TraceHealth health;
  Footer footer;
  std::vector<Event> events;

  std::map<EventKind, int> counts() const {
    std::map<EventKind, int> counts;
    for (const Event& event : events) ++counts[event.kind];
    return counts;
  }
  uint64_t calls() const {
    uint64_t calls = 0;
    for (const Event& event : events) {
      calls += event.kind != EventKind::kThreadStart && event.kind != EventKind::kThreadEnd &&
               event.kind != EventKind::kReallocBegin;
    }
    return calls;
  }
};

inline Trace ReadTrace(const std::string& path) {
  Trace trace;
  auto reader = TraceReader::Open(path);
  EXPECT_TRUE(reader.ok()) << reader.status();
  if (!reader.ok()) return trace;
  trace.header = (*reader)->header();
  std::vector<Event> batch;
  while (*(*reader)->Next(&batch)) trace.events.insert(trace.events.end(), batch.begin(), batch.end());
  trace.health = (*reader)->health();
  trace.footer = (*reader)->footer();
  return trace;
}

// An allocation of an address that is live, or a free of one that is not: what
// a wrong order of calls looks like.
struct Contradictions {
  int live_twice = 0;
  int orphan_frees = 0;
  size_t live_at_end = 0;
};

inline Contradictions FindContradictions(const std::vector<Event>& events) {
  Contradictions found;
  std::set<uint64_t> live;
  std::map<uint32_t, std::vector<uint64_t>> in_realloc;
  const auto take = [&](uint64_t address) { found.orphan_frees += address != 0 && live.erase(address) == 0; };
  const auto give = [&](uint64_t address) { found.live_twice += address != 0 && !live.insert(address).second; };
  for (const Event& event : events) {
    switch (event.kind) {
      case EventKind::kFree:
        take(event.address);
        break;
      case EventKind::kRealloc:
        if (event.address == 0 && event.size > 0) break;  // failed: its block stays
        take(event.old_address);
        give(event.address);
        break;
      case EventKind::kReallocBegin:
        take(event.old_address);
        break;
      case EventKind::kThreadStart:
      case EventKind::kThreadEnd:
      case EventKind::kMallopt:
      case EventKind::kMallocTrim:
        break;
      default:
        give(event.address);
    }
  }
  found.live_at_end = live.size();
  return found;
}

inline uint64_t ReadCounter(const std::string& path) {
  uint64_t counter = 0;
  std::ifstream(path, std::ios::binary).read(reinterpret_cast<char*>(&counter), sizeof counter);
  return counter;
}

class RecordedTest : public testing::Test {
 protected:
  RecordedTest() : directory_(MakeTestDirectory("recorded")), trace_path_(directory_ + "/t.heaptape") {}
  ~RecordedTest() override { std::filesystem::remove_all(directory_); }

  ProgramResult Record(const std::vector<std::string>& command, const std::vector<std::string>& options = {},
                       const std::vector<std::string>& environment = {}) {
    std::vector<std::string> line = {kHeaptape, "record", "-o", trace_path_};
    line.insert(line.end(), options.begin(), options.end());
    line.push_back("--");
    line.insert(line.end(), command.begin(), command.end());
    return RunProgram(line, environment);
  }

  // Records with another allocator preloaded behind us in the command alone.
  ProgramResult RecordBefore(const std::string& allocator, const std::vector<std::string>& command,
                             const std::vector<std::string>& environment = {},
                             const std::vector<std::string>& options = {}) {
    std::vector<std::string> line = {
        "env", absl::StrCat("LD_PRELOAD=", std::filesystem::canonical(kInterposer).string(), ":", allocator)};
    line.insert(line.end(), environment.begin(), environment.end());
    line.insert(line.end(), command.begin(), command.end());
    return Record(line, options);
  }

  // The trace of the one recorded program of that name.
  Trace TraceOf(const std::string& program) {
    for (const std::string& path : Traces()) {
      Trace trace = ReadTrace(path);
      if (trace.header.program() == program) return trace;
    }
    ADD_FAILURE() << "no trace of " << program;
    return Trace();
  }

  std::vector<std::string> Traces() const {
    std::vector<std::string> traces;
    for (const auto& entry : std::filesystem::directory_iterator(directory_)) {
      if (entry.path().extension() == ".heaptape") traces.push_back(entry.path());
    }
    return traces;
  }

  void RemoveTraces() const {
    for (const std::string& path : Traces()) std::filesystem::remove(path);
  }

  const std::string directory_;
  const std::string trace_path_;
};

}  // namespace heaptape

#endif  // HEAPTAPE_RECORDER_RECORDED_H_
