#include "tools/import_command.h"

#include <sys/stat.h>
#include <unistd.h>

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "absl/cleanup/cleanup.h"
#include "absl/strings/str_cat.h"
#include "proto/android_text.h"
#include "proto/event.h"
#include "proto/text_lines.h"
#include "proto/trace_reader.h"
#include "proto/trace_writer.h"

namespace heaptape {
namespace {

constexpr uint64_t k4GiB = uint64_t{1} << 32;

struct ImportOptions {
  std::string from;
  std::string in;
  std::string out;
  uint32_t cpus = 8;
};

// Parses `path` and calls `use` with the events of each line until it is told
// to stop by false, or to the end. Errors name file and line.
template <typename Use>
absl::Status ForEachLine(const std::string& path, AndroidTextParser* parser, Use use) {
  auto lines = TextLines::Open(path);
  if (!lines.ok()) return lines.status();
  std::vector<Event> events;
  std::string_view line;
  while (true) {
    const absl::StatusOr<bool> more = (*lines)->Next(&line);
    if (!more.ok()) return more.status();
    if (!*more) return absl::OkStatus();
    events.clear();
    const absl::Status status = parser->Parse(line, &events);
    if (!status.ok()) return absl::Status(status.code(), (*lines)->Located(status.message()));
    const absl::StatusOr<bool> go_on = use(events);
    if (!go_on.ok()) return go_on.status();
    if (!*go_on) return absl::OkStatus();
  }
}

absl::StatusOr<int> Import(const ImportOptions& options) {
  struct stat info;
  if (stat(options.in.c_str(), &info) == 0 && !S_ISREG(info.st_mode)) {
    return absl::InvalidArgumentError(absl::StrCat(options.in, ": is not a regular file; it has to be read twice"));
  }
  // The header says how wide addresses are, so they are looked at before it is
  // written: all of them for a 32-bit trace, a few for a 64-bit one.
  AndroidTextParser first;
  absl::Status status = ForEachLine(options.in, &first, [&first](const std::vector<Event>&) -> absl::StatusOr<bool> {
    return first.greatest_address() < k4GiB;
  });
  if (!status.ok()) return status;
  if (first.calls() == 0) return absl::InvalidArgumentError(absl::StrCat(options.in, ": holds no calls"));

  Header header;
  header.set_version(kTraceVersion);
  header.set_recorder("import android");
  header.set_cpus(options.cpus);
  header.set_page_bytes(4096);
  header.set_pointer_bytes(first.greatest_address() < k4GiB ? 4 : 8);
  auto writer = TraceWriter::Create(options.out, header);
  if (!writer.ok()) return writer.status();
  auto remove = absl::MakeCleanup([&options] { unlink(options.out.c_str()); });

  AndroidTextParser parser;
  status = ForEachLine(options.in, &parser, [&](const std::vector<Event>& events) -> absl::StatusOr<bool> {
    (*writer)->set_time_ns(parser.time_ns());
    for (const Event& event : events) {
      if (absl::Status error = (*writer)->Append(event); !error.ok()) return error;
    }
    return true;
  });
  if (!status.ok()) return status;
  Footer footer;
  footer.set_end("imported");
  if (status = (*writer)->Close(footer); !status.ok()) return status;
  std::move(remove).Cancel();
  return kExitOk;
}

}  // namespace

void AddImportCommand(CommandSet& commands) {
  auto options = std::make_shared<ImportOptions>();
  CLI::App& app = commands.Add("import", "Makes a trace of what another recorder has written.",
                               [options] { return Import(*options); });
  AddChoice(app, "--from", &options->from, {"android"},
            "What IN is. android: allocation traces of malloc_debug and memory_replay, as text, gzipped, or zipped")
      ->required();
  app.add_option("IN", options->in, "The file to import")->required();
  app.add_option("-o,--output", options->out, "The trace to write; never overwritten")->type_name("OUT")->required();
  app.add_option("--cpus", options->cpus, "Processors of the recorded machine, which limit glibc's arenas")
      ->type_name("N")
      ->check(CLI::Range(1u, 1u << 20).description(""))
      ->capture_default_str();
}

}  // namespace heaptape
