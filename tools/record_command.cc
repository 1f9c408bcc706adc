#include "tools/record_command.h"

#include <signal.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdio>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "recorder/collector/record.h"
#include "tools/byte_size.h"
#include "tools/installed_file.h"

namespace heaptape {
namespace {

struct RecordFlags {
  std::vector<std::string> command;
  std::string output = "%e.%p.heaptape";
  std::string follow = "all";
  std::string on_full = "wait";
  uint64_t buffer = wire::SessionConfig().buffer_bytes;
  uint64_t max_size = wire::SessionConfig().max_bytes;
};

void PrintSummary(const RecordResult& result) {
  for (const RecordingSummary& recording : result.recordings) {
    std::string line = "heaptape: ";
    if (!recording.trace.empty()) {
      const double bytes_a_call =
          recording.events == 0 ? 0 : static_cast<double>(recording.bytes) / static_cast<double>(recording.events);
      absl::StrAppendFormat(&line, "%s: %d events, %.2f bytes a call, lost %d", recording.trace, recording.events,
                            bytes_a_call, recording.lost_calls);
    }
    if (!recording.problem.empty()) absl::StrAppend(&line, recording.trace.empty() ? "" : "; ", recording.problem);
    std::fprintf(stderr, "%s\n", line.c_str());
  }
  if (result.still_running > 0) {
    std::fprintf(stderr, "heaptape: %zu recorded processes still run; when they have ended: heaptape collect %s\n",
                 result.still_running, result.session.c_str());
  } else if (result.recordings.empty()) {
    std::fprintf(stderr, "heaptape: nothing was recorded: the command did not load our library "
                         "(is it statically linked, setuid, or for another C library?)\n");
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
  auto interposer = FindInstalledFile("lib/heaptape/libheaptape.so", "recorder/interposer/libheaptape.so");
  if (!interposer.ok()) return interposer.status();
  options.interposer = *std::move(interposer);
  const absl::StatusOr<RecordResult> result = Record(options);
  if (!result.ok()) return result.status();
  PrintSummary(*result);
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
  app.footer(
      "Exits as the command did. One line for each trace goes to standard error when the command has\n"
      "ended. The session directory beside the traces is removed then; if this process is killed, it\n"
      "stays, and nothing is lost.");
}

}  // namespace heaptape
