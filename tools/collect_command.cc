#include "tools/collect_command.h"

#include <signal.h>
#include <sys/stat.h>

#include <cstdio>
#include <filesystem>
#include <memory>
#include <string>
#include <system_error>

#include "absl/strings/str_cat.h"
#include "recorder/collector/collector.h"
#include "tools/recording_text.h"

namespace heaptape {
namespace {

volatile sig_atomic_t interrupted = 0;
void Interrupt(int) { interrupted = 1; }

struct CollectFlags {
  std::string session;
  std::string output = "%e.%p.heaptape";
  bool stay = false;
};

absl::StatusOr<int> Collect(const CollectFlags& flags) {
  struct stat info;
  if (lstat(flags.session.c_str(), &info) != 0 || !S_ISDIR(info.st_mode)) {
    return absl::NotFoundError(absl::StrCat(flags.session, ": is not a session directory"));
  }
  signal(SIGINT, Interrupt);
  signal(SIGTERM, Interrupt);
  std::error_code error;
  Collector collector(std::filesystem::absolute(flags.session, error).string(), flags.output);
  size_t told = 0;
  // Two rounds at least: one finds a program's image, the next that it has ended.
  for (int round = 0; interrupted == 0 && (flags.stay || round < 2 || collector.running() > 0); ++round) {
    collector.ScanNow();
    collector.Step(/*child=*/0);
    for (; told < collector.summaries().size(); ++told) {
      std::fprintf(stderr, "heaptape: %s\n", RecordingText(collector.summaries()[told]).c_str());
    }
  }
  if (collector.running() > 0) {
    collector.Sync();
    std::fprintf(stderr, "heaptape: %zu recorded programs still run; `heaptape collect %s` goes on where this stopped\n",
                 collector.running(), flags.session.c_str());
    return kExitOk;
  }
  if (collector.summaries().empty() && !flags.stay) {
    return absl::NotFoundError(absl::StrCat(flags.session, ": no program has recorded anything here"));
  }
  bool failed = false;
  for (const RecordingSummary& summary : collector.summaries()) failed = failed || summary.trace.empty();
  // What is left is the configuration; keep whatever somebody else has put there.
  if (!failed && !flags.stay) {
    std::filesystem::remove(flags.session + "/config", error);
    std::filesystem::remove(flags.session, error);
  }
  return failed ? kExitFailed : kExitOk;
}

}  // namespace

void AddCollectCommand(CommandSet& commands) {
  auto flags = std::make_shared<CollectFlags>();
  CLI::App& app = commands.Add("collect", "Makes traces of what recorded programs have left in a session directory.",
                               [flags] { return Collect(*flags); });
  app.add_option("DIR", flags->session, "The session directory, as in HEAPTAPE_SESSION")->required();
  app.add_option("-o,--output", flags->output, "Where traces go; see heaptape record")
      ->type_name("PATTERN")
      ->capture_default_str();
  app.add_flag("--stay", flags->stay, "Go on for programs that start later, until interrupted");
  app.footer(
      "A program records without `heaptape record` when it is started with\n"
      "\n"
      "    LD_PRELOAD=PREFIX/lib/heaptape/libheaptape.so HEAPTAPE_SESSION=/absolute/DIR\n"
      "\n"
      "in its environment. This command may run beside it, or after it has ended. A collector that is\n"
      "interrupted or killed loses nothing: the next one goes on with the same traces. The directory is\n"
      "removed when all programs have ended.");
}

}  // namespace heaptape
