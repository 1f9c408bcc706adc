#include "tools/cat_command.h"

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <limits>
#include <memory>
#include <string>
#include <vector>

#include "proto/event_text.h"
#include "proto/trace_reader.h"
#include "tools/standard_output.h"

namespace heaptape {
namespace {

constexpr size_t kPieceBytes = 64 << 10;

struct CatOptions {
  std::string trace;
  uint64_t from = 1;
  uint64_t until = std::numeric_limits<uint64_t>::max();
};

absl::StatusOr<int> Cat(const CatOptions& options) {
  auto reader = TraceReader::Open(options.trace);
  if (!reader.ok()) return reader.status();
  std::vector<Event> events;
  std::string text;
  while ((*reader)->health().last_event < options.until) {
    const absl::StatusOr<bool> more = (*reader)->Next(&events);
    if (!more.ok()) return more.status();
    if (!*more) break;
    const uint64_t first = (*reader)->first_event();
    const uint64_t last = std::min<uint64_t>(first + events.size() - 1, options.until);
    for (uint64_t number = std::max(first, options.from); number <= last; ++number) {
      AppendEventText(number, events[number - first], &text);
      if (text.size() < kPieceBytes) continue;
      const absl::Status status = WriteStandardOutput(text);
      if (absl::IsCancelled(status)) return kExitOk;  // they have seen enough
      if (!status.ok()) return status;
      text.clear();
    }
  }
  if (const absl::Status status = WriteStandardOutput(text); !status.ok() && !absl::IsCancelled(status)) return status;
  // Behind the events, so that on a terminal the last lines are what matters.
  const TraceHealth& health = (*reader)->health();
  for (const std::string& problem : health.problems) std::fprintf(stderr, "heaptape: %s\n", problem.c_str());
  return health.lost_events == 0 ? kExitOk : kExitFailed;
}

}  // namespace

void AddCatCommand(CommandSet& commands) {
  auto options = std::make_shared<CatOptions>();
  CLI::App& app = commands.Add("cat", "Prints the events of a trace, one a line: number, thread, call.",
                               [options] { return Cat(*options); });
  app.add_option("TRACE", options->trace, "The trace")->required();
  app.add_option("--from", options->from, "Number of the first event to print")->type_name("EVENT")
      ->capture_default_str();
  app.add_option("--until", options->until, "Number of the last (default the last of the trace)")->type_name("EVENT");
  app.footer(
      "What is wrong with the trace is said on standard error. Events that are lost from its middle\n"
      "make the exit status 1, after all others have been printed; a recording that merely broke off\n"
      "(it was killed, or still runs) does not.");
}

}  // namespace heaptape
