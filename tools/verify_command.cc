#include "tools/verify_command.h"

#include <fstream>
#include <iostream>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "replayer/driver/engine_process.h"
#include "tools/installed_file.h"
#include "tools/replay_options.h"
#include "tools/standard_output.h"
#include "verifier/verifier.h"

namespace heaptape {
namespace {

struct VerifyFlags {
  std::vector<std::string> target;  // PID, or a command
  TunableOptions expected;
  std::string output;
  std::string format = "text";
};

absl::StatusOr<VerifierFiles> FindFiles() {
  const absl::StatusOr<std::string> witness =
      FindInstalledFile("libexec/heaptape/heaptape-witness", "verifier/witness/heaptape-witness");
  if (!witness.ok()) return witness.status();
  const absl::StatusOr<std::string> probe =
      FindInstalledFile("lib/heaptape/libheaptape-probe.so", "verifier/probe/libheaptape-probe.so");
  if (!probe.ok()) return probe.status();
  const absl::StatusOr<std::string> engine = FindEngine();
  if (!engine.ok()) return engine.status();
  return VerifierFiles{*witness, *probe, *engine};
}

// A command has standard output for itself.
absl::Status WriteReport(const std::string& report, const std::string& output, bool is_pid) {
  if (output.empty() && is_pid) return WriteStandardOutput(report);
  if (output.empty()) {
    std::cerr << report;
    return absl::OkStatus();
  }
  std::ofstream file(output, std::ios::binary | std::ios::trunc);
  file << report;
  file.close();
  return file ? absl::OkStatus() : absl::UnavailableError(absl::StrCat(output, ": cannot be written"));
}

absl::StatusOr<int> RunVerify(const VerifyFlags& flags) {
  int pid = 0;
  const bool is_pid = flags.target.size() == 1 && absl::SimpleAtoi(flags.target[0], &pid) && pid > 0;
  const absl::StatusOr<TunableMap> expected = TunablesOf(flags.expected, "");
  if (!expected.ok()) return expected.status();
  std::vector<WantedSetting> wanted;
  for (const auto& [name, value] : *expected) wanted.push_back({name, value, "option"});
  const absl::StatusOr<VerifierFiles> files = FindFiles();
  if (!files.ok()) return files.status();

  absl::StatusOr<Verifier> verifier = Verifier::Create(*files, std::move(wanted));
  if (!verifier.ok()) return verifier.status();
  const absl::StatusOr<Verification> verification =
      is_pid ? verifier->VerifyProcess(pid) : verifier->VerifyCommand(flags.target);
  if (!verification.ok()) return verification.status();
  const std::string report =
      flags.format == "json" ? VerificationJson(*verification) : VerificationText(*verification);
  if (absl::Status status = WriteReport(report, flags.output, is_pid); !status.ok()) return status;
  return verification->in_force() ? kExitOk : kExitFailed;
}

}  // namespace

void AddVerifyCommand(CommandSet& commands) {
  auto flags = std::make_shared<VerifyFlags>();
  CLI::App& app = commands.Add("verify",
                               "Says whether settings of malloc are in force, in a process and those below it or in a "
                               "command that it runs, and if not, why not.",
                               [flags] { return RunVerify(*flags); });
  app.add_option("PID|COMMAND", flags->target, "A process that runs, or, behind --, a command and its arguments")->required();
  AddTunableOptions(app, &flags->expected, "What should be in force, besides what the environment asks for");
  app.add_option("-o,--output", flags->output,
                 "Where the report goes (default: standard output; of a command, which has that for itself, standard error)")
      ->type_name("FILE");
  AddChoice(app, "--format", &flags->format, {"text", "json"}, "How to say it");
  app.footer(
      "What GLIBC_TUNABLES and MALLOC_* in a process's environment ask for is compared with what its malloc goes by. A\n"
      "process is looked at from outside, and not stopped; that needs the right to read it (its user, or root). A\n"
      "command runs on this standard input and output, with a library that tries settings out before its main.\n"
      "Exit status: 0 all in force, 1 something is not, or nothing is set, 2 wrong usage.");
}

}  // namespace heaptape
