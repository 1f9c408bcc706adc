#include "tools/info_command.h"

#include <memory>
#include <string>

#include "analysis/trace_summary.h"
#include "analysis/trace_summary_text.h"
#include "proto/trace_reader.h"
#include "tools/standard_output.h"

namespace heaptape {
namespace {

struct InfoOptions {
  std::string trace;
  std::string format = "text";
};

absl::StatusOr<int> Info(const InfoOptions& options) {
  auto reader = TraceReader::Open(options.trace);
  if (!reader.ok()) return reader.status();
  const absl::StatusOr<TraceSummary> summary = Summarize(options.trace, reader->get());
  if (!summary.ok()) return summary.status();
  const std::string report = options.format == "json" ? TraceSummaryJson(*summary) : TraceSummaryText(*summary);
  if (absl::Status status = WriteStandardOutput(report); !status.ok()) return status;
  return kExitOk;
}

}  // namespace

void AddInfoCommand(CommandSet& commands) {
  auto options = std::make_shared<InfoOptions>();
  CLI::App& app = commands.Add("info", "Says what a trace holds, who was recorded, and whether anything is missing.",
                               [options] { return Info(*options); });
  app.add_option("TRACE", options->trace, "The trace")->required();
  AddChoice(app, "--format", &options->format, {"text", "json"}, "How to say it");
}

}  // namespace heaptape
