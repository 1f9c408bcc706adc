#include "tools/report_command.h"

#include <unistd.h>

#include <cstdint>
#include <cstdio>
#include <fstream>
#include <memory>
#include <string>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "analysis/full_report.h"
#include "analysis/json_text.h"
#include "analysis/report_document.h"
#include "analysis/report_html.h"
#include "analysis/report_json.h"
#include "analysis/report_markdown.h"
#include "tools/replay_options.h"
#include "tools/standard_output.h"

namespace heaptape {
namespace {

struct ReportFlags {
  std::string trace;
  ReplayOptions replay;
  std::string until;
  std::string output;
  std::string format;
};

// What to type to get this report again.
std::string CommandOf(const ReportFlags& flags) {
  std::string command = absl::StrCat("heaptape report ", flags.trace);
  for (const auto& [name, value] : flags.replay.tunables) absl::StrAppend(&command, " --tunable=", name, "=", value);
  for (const std::string& named : flags.replay.named_tunables) absl::StrAppend(&command, " --tunable=", named);
  if (flags.replay.allocator != "glibc") absl::StrAppend(&command, " --allocator=", flags.replay.allocator);
  if (!flags.replay.glibc_directory.empty()) absl::StrAppend(&command, " --glibc=", flags.replay.glibc_directory);
  if (flags.replay.touch != "none") absl::StrAppend(&command, " --touch=", flags.replay.touch);
  if (!flags.replay.trim_at.empty()) absl::StrAppend(&command, " --trim-at=", flags.replay.trim_at);
  if (flags.replay.ignore_mallopt) absl::StrAppend(&command, " --ignore-mallopt");
  if (!flags.until.empty()) absl::StrAppend(&command, " --until=", flags.until);
  if (!flags.output.empty()) absl::StrAppend(&command, " -o ", flags.output);
  if (!flags.format.empty()) absl::StrAppend(&command, " --format=", flags.format);
  return command;
}

absl::StatusOr<std::string> FormatOf(const ReportFlags& flags) {
  if (!flags.format.empty()) return flags.format;
  if (flags.output.empty() || absl::EndsWith(flags.output, ".md")) return std::string("markdown");
  if (absl::EndsWith(flags.output, ".html") || absl::EndsWith(flags.output, ".htm")) return std::string("html");
  if (absl::EndsWith(flags.output, ".json")) return std::string("json");
  return UsageError(absl::StrCat("-o ", flags.output, ": neither .html nor .md nor .json; say which with --format"));
}

absl::StatusOr<int> RunReport(const ReportFlags& flags) {
  const absl::StatusOr<std::string> format = FormatOf(flags);
  if (!format.ok()) return format.status();
  const absl::StatusOr<ReplaySettings> settings = SettingsOf(flags.replay);
  if (!settings.ok()) return settings.status();
  const absl::StatusOr<PlanOptions> plan = PlanOf(flags.replay, flags.until);
  if (!plan.ok()) return plan.status();
  const bool shown = isatty(STDERR_FILENO) != 0;
  absl::StatusOr<FullReport> report = MakeFullReport(flags.trace, *plan, *settings, [shown](const char* what) {
    if (shown) std::fprintf(stderr, "\r\x1b[K%s", what);
  });
  if (shown) std::fprintf(stderr, "\r\x1b[K");
  if (!report.ok()) return report.status();
  report->command = CommandOf(flags);

  std::string text;
  if (*format == "json") {
    text = JsonText(ReportJson(*report));
  } else {
    const ReportDocument document = DescribeReport(*report);
    text = *format == "html" ? ReportHtml(*report, document) : ReportMarkdown(document);
  }
  if (flags.output.empty()) {
    if (absl::Status status = WriteStandardOutput(text); !status.ok()) return status;
    return kExitOk;
  }
  std::ofstream file(flags.output, std::ios::binary | std::ios::trunc);
  file << text;
  file.close();
  if (!file) return absl::UnavailableError(absl::StrCat(flags.output, ": cannot be written"));
  return kExitOk;
}

}  // namespace

void AddReportCommand(CommandSet& commands) {
  auto flags = std::make_shared<ReportFlags>();
  CLI::App& app = commands.Add("report", "Writes everything about a trace into one file for a ticket: what holds the memory, and why.",
                               [flags] { return RunReport(*flags); });
  app.add_option("TRACE", flags->trace, "The trace")->required();
  app.add_option("-o,--output", flags->output, "Where to: .html, .md or .json (default: Markdown on standard output)")
      ->type_name("FILE");
  AddChoice(app, "--format", &flags->format, {"html", "markdown", "json"}, "How to report, whatever the file's name");
  app.add_option("--until", flags->until, "Stop after this event")->type_name("EVENT");
  AddReplayOptions(app, &flags->replay);
  app.footer(
      "The HTML page holds all that it needs and loads nothing. The Markdown fits a ticket: 60 KB at most.\n"
      "Both name the mechanism at work, and what tells it from others: replays with one setting changed.");
}

}  // namespace heaptape
