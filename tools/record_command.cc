#include "tools/record_command.h"

#include <signal.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <map>
#include <memory>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "analysis/python_note.h"
#include "proto/trace_reader.h"
#include "recorder/collector/obstacle.h"
#include "recorder/collector/record.h"
#include "tools/byte_size.h"
#include "tools/installed_file.h"
#include "tools/recording_text.h"
#include "recorder/wire/call.h"

namespace heaptape {
namespace {

struct RecordFlags {
  std::vector<std::string> command;
  std::string output = "%e.%p.heaptape";
  std::string follow = "all";
  std::string on_full = "wait";
  uint64_t buffer = wire::SessionConfig().buffer_bytes;
  uint64_t max_size = wire::SessionConfig().max_bytes;
  std::string trap;
};

// --trap=EVENT or --trap=CALL:SIZE.
absl::Status SetTrap(const std::string& text, wire::SessionConfig* config) {
  const size_t colon = text.find(':');
  if (colon == std::string::npos) {
    config->trap_at = wire::TrapAt::kEvent;
    if (absl::SimpleAtoi(text, &config->trap_value) && config->trap_value > 0) return absl::OkStatus();
    return UsageError(absl::StrCat("--trap: ", text, " is neither an event's number nor CALL:SIZE"));
  }
  const std::map<std::string, wire::Form> forms = {
      {"malloc", wire::Form::kMalloc},       {"calloc", wire::Form::kCalloc},
      {"realloc", wire::Form::kAcquire},     {"memalign", wire::Form::kMemalign},
      {"valloc", wire::Form::kValloc},       {"aligned_alloc", wire::Form::kAlignedAlloc},
      {"pvalloc", wire::Form::kPvalloc},     {"posix_memalign", wire::Form::kPosixMemalign}};
  const auto form = forms.find(text.substr(0, colon));
  if (form == forms.end()) {
    return UsageError(absl::StrCat("--trap: ", text.substr(0, colon), " is not an allocating function"));
  }
  const absl::StatusOr<uint64_t> size = ParseByteSize(text.substr(colon + 1));
  if (!size.ok()) return UsageError(absl::StrCat("--trap: ", size.status().message()));
  config->trap_at = wire::TrapAt::kSize;
  config->trap_form = static_cast<uint32_t>(form->second);
  config->trap_value = *size;
  return absl::OkStatus();
}

// Scripts run hundreds of programs: the largest recordings are told of one by one.
constexpr size_t kLines = 10;

void PrintSummary(const std::string& command, const RecordResult& result) {
  std::vector<RecordingSummary> recordings = result.recordings;
  if (recordings.size() > kLines) {
    std::stable_sort(recordings.begin(), recordings.end(), [](const RecordingSummary& a, const RecordingSummary& b) {
      return std::make_tuple(a.problem.empty(), b.events) < std::make_tuple(b.problem.empty(), a.events);
    });
  }
  uint64_t other_events = 0, other_lost = 0;
  for (size_t i = 0; i < recordings.size(); ++i) {
    if (i < kLines) {
      std::fprintf(stderr, "heaptape: %s\n", RecordingText(recordings[i]).c_str());
    } else {
      other_events += recordings[i].events;
      other_lost += recordings[i].lost_calls;
    }
  }
  if (recordings.size() > kLines) {
    std::fprintf(stderr, "heaptape: %zu other traces: %lu events, lost %lu\n", recordings.size() - kLines, other_events,
                 other_lost);
  }
  if (result.still_running > 0) {
    std::fprintf(stderr, "heaptape: %zu recorded processes still run; recording goes on in the background\n",
                 result.still_running);
  } else if (!result.session.empty()) {
    std::fprintf(stderr, "heaptape: what could not be written is in %s; when there is room: heaptape collect %s\n",
                 result.session.c_str(), result.session.c_str());
  } else if (result.recordings.empty()) {
    const std::string obstacle = FindObstacle(command);
    std::fprintf(stderr, "heaptape: nothing was recorded: %s %s\n", command.c_str(),
                 obstacle.empty() ? "made no call, or did not load our library" : ("cannot be: " + obstacle).c_str());
  }
}

// What the recordings leave out for a reason that the user can change: told here, when
// recording once more is easy.
void PrintNote(const RecordResult& result) {
  for (size_t i = 0; i < std::min(result.recordings.size(), kLines); ++i) {
    if (result.recordings[i].trace.empty()) continue;
    const auto reader = TraceReader::Open(result.recordings[i].trace);
    const std::string note = reader.ok() ? PythonNote((*reader)->header()) : "";
    if (note.empty()) continue;
    std::fprintf(stderr, "heaptape: %s\n", note.c_str());
    return;
  }
}

// Ends as the command did, also by its signal, so that whoever waits for us sees
// what it would have seen.
int EndAs(int wait_status) {
  if (!WIFSIGNALED(wait_status)) return WEXITSTATUS(wait_status);
  const int signal_number = WTERMSIG(wait_status);
  const rlimit no_core = {0, 0};
  setrlimit(RLIMIT_CORE, &no_core);
  signal(signal_number, SIG_DFL);
  kill(getpid(), signal_number);
  return 128 + signal_number;
}

absl::StatusOr<int> RunRecord(const RecordFlags& flags) {
  RecordOptions options;
  options.command = flags.command;
  options.pattern = flags.output;
  options.config.buffer_bytes = flags.buffer;
  options.config.max_bytes = flags.max_size;
  options.config.on_full = flags.on_full == "drop" ? wire::OnFull::kDrop : wire::OnFull::kWait;
  options.config.follow = flags.follow == "none" ? wire::Follow::kNone : wire::Follow::kAll;
  if (!flags.trap.empty()) {
    if (absl::Status status = SetTrap(flags.trap, &options.config); !status.ok()) return status;
  }
  auto interposer = FindInstalledFile("lib/heaptape/libheaptape.so", "recorder/interposer/libheaptape.so");
  if (!interposer.ok()) return interposer.status();
  options.interposer = *std::move(interposer);
  const absl::StatusOr<RecordResult> result = Record(options);
  if (!result.ok()) return result.status();
  PrintSummary(flags.command[0], *result);
  PrintNote(*result);
  return EndAs(result->wait_status);
}

}  // namespace

void AddRecordCommand(CommandSet& commands) {
  auto flags = std::make_shared<RecordFlags>();
  CLI::App& app = commands.Add("record", "Runs a command and records every allocation it makes, into one trace for each "
                                         "program that it runs.",
                               [flags] { return RunRecord(*flags); });
  app.add_option("COMMAND", flags->command, "The command and its arguments, behind --")->required();
  app.add_option("-o,--output", flags->output,
                 "Where traces go: %e is the program's name, %p its process id. A file that is there is never "
                 "overwritten; the new one is then named after its program as well")
      ->type_name("PATTERN")
      ->capture_default_str();
  AddChoice(app, "--follow", &flags->follow, {"all", "none"},
            "Record the programs that the command starts, too, or leave them alone");
  AddChoice(app, "--on-full", &flags->on_full, {"wait", "drop"},
            "What the program does when it is faster than the recorder: wait, and lose nothing, or go on, and have the "
            "lost calls counted");
  app.add_option("--buffer", flags->buffer, "How far the recorder may fall behind")
      ->transform(ByteSize())
      ->type_name("BYTES")
      ->default_str("32M");
  app.add_option("--max-size", flags->max_size, "What the program may leave behind if the recorder is killed")
      ->transform(ByteSize())
      ->type_name("BYTES")
      ->default_str("4G");
  app.add_option("--trap", flags->trap,
                 "Raise SIGTRAP in the calling thread at that call, so that a debugger that is attached stops there: at "
                 "an event's number, which is exact if the calls come in the same order again, or at each call of a "
                 "function with that size, as realloc:8880819")
      ->type_name("EVENT|CALL:SIZE");
  app.footer(
      "Exits as the command did. One line for each trace goes to standard error when the command has\n"
      "ended. The session directory beside the traces is removed then; if this process is killed, it\n"
      "stays, and nothing is lost.");
}

}  // namespace heaptape
