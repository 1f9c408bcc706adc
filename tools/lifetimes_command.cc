#include "tools/lifetimes_command.h"

#include <memory>
#include <string>

#include "absl/strings/str_cat.h"
#include "analysis/full_report.h"
#include "analysis/json_text.h"
#include "analysis/lifetimes.h"
#include "analysis/lifetimes_text.h"
#include "analysis/replay_text.h"
#include "tools/replay_options.h"
#include "tools/standard_output.h"

namespace heaptape {
namespace {

struct LifetimesFlags {
  std::string trace;
  ReplayOptions replay;
  std::string format = "text";
};

absl::StatusOr<int> RunLifetimes(const LifetimesFlags& flags) {
  const absl::StatusOr<ReplaySettings> settings = SettingsOf(flags.replay);
  if (!settings.ok()) return settings.status();
  const absl::StatusOr<PlanOptions> plan = PlanOf(flags.replay);
  if (!plan.ok()) return plan.status();
  const absl::StatusOr<ReplayResult> result = ReplayTrace(flags.trace, *plan, *settings, "replaying");
  if (!result.ok()) return result.status();
  Lifetimes lifetimes(result->settings.syscalls_seen ? result->peak_system.event : result->peak_requested.event);
  absl::Status read = ReadTrace(flags.trace, 0, &lifetimes, nullptr);
  if (!read.ok()) return read;
  const LifetimeReport report = lifetimes.Finish(*result);
  const std::string text = flags.format == "json" ? JsonText(LifetimesJson(report))
                                                  : absl::StrCat(ReplayHeadText(flags.trace, *result), "\n", LifetimesText(report));
  if (absl::Status status = WriteStandardOutput(text); !status.ok()) return status;
  return kExitOk;
}

}  // namespace

void AddLifetimesCommand(CommandSet& commands) {
  auto flags = std::make_shared<LifetimesFlags>();
  CLI::App& app = commands.Add("lifetimes", "Shows how long blocks live, by size, and what outlives the peak.",
                               [flags] { return RunLifetimes(*flags); });
  app.add_option("TRACE", flags->trace, "The trace")->required();
  AddChoice(app, "--format", &flags->format, {"text", "json"}, "How to report");
  AddReplayOptions(app, &flags->replay);
  app.footer(
      "Ages are in events; blocks that are still live are as old as they are. A realloc ends one block and\n"
      "begins another. Live blocks at the end are shown with what they asked for and what they take.");
}

}  // namespace heaptape
