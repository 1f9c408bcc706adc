#include "tools/compact_command.h"

#include <unistd.h>

#include <cstdio>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/cleanup/cleanup.h"
#include "proto/compact_writer.h"
#include "proto/trace_reader.h"

namespace heaptape {
namespace {

struct CompactOptions {
  std::string trace;
  std::string out;
};

absl::StatusOr<int> Compact(const CompactOptions& options) {
  auto reader = TraceReader::Open(options.trace);
  if (!reader.ok()) return reader.status();
  auto writer = CompactWriter::Create(options.out, (*reader)->header());
  if (!writer.ok()) return writer.status();
  auto remove = absl::MakeCleanup([&options] { unlink(options.out.c_str()); });
  std::vector<Event> events;
  while (true) {
    const absl::StatusOr<bool> more = (*reader)->Next(&events);
    if (!more.ok()) return more.status();
    if (!*more) break;
    if (absl::Status status = (*writer)->Append((*reader)->first_event(), events); !status.ok()) return status;
  }
  const absl::Status status = (*writer)->Close((*reader)->closed() ? &(*reader)->footer() : nullptr);
  if (!status.ok()) return status;
  std::move(remove).Cancel();
  const TraceHealth& health = (*reader)->health();
  for (const std::string& problem : health.problems) std::fprintf(stderr, "heaptape: %s\n", problem.c_str());
  return health.lost_events == 0 ? kExitOk : kExitFailed;
}

}  // namespace

void AddCompactCommand(CommandSet& commands) {
  auto options = std::make_shared<CompactOptions>();
  CLI::App& app = commands.Add("compact", "Writes a trace anew, without addresses and times, as small as it gets.",
                               [options] { return Compact(*options); });
  app.add_option("TRACE", options->trace, "The trace")->required();
  app.add_option("-o,--output", options->out, "The trace to write; never overwritten")->type_name("OUT")->required();
  app.footer(
      "A replay of it prints the same digest, but nothing can be compared with the recorded addresses any more,\n"
      "and where the file is damaged all that follows is lost. Events that are lost from the middle of TRACE\n"
      "make the exit status 1; those that are there have been written.");
}

}  // namespace heaptape
