#include "tools/replay_options.h"

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "proto/trace_reader.h"
#include "replayer/driver/replayer.h"
#include "replayer/driver/tunables.h"
#include "tools/byte_size.h"
#include "tools/progress_line.h"

namespace heaptape {
namespace {

struct TunableOption {
  const char* option;
  const char* tunable;
  const char* type;
  const char* description;
};

constexpr TunableOption kTunableOptions[] = {
    {"--mmap-threshold", "glibc.malloc.mmap_threshold", "BYTES", "Blocks from this size on get a mapping of their own"},
    {"--trim-threshold", "glibc.malloc.trim_threshold", "BYTES", "Free memory at a heap's end that is given back"},
    {"--top-pad", "glibc.malloc.top_pad", "BYTES", "What a heap that grows takes more than it needs"},
    {"--mmap-max", "glibc.malloc.mmap_max", "N", "Most blocks with a mapping of their own"},
    {"--arena-max", "glibc.malloc.arena_max", "N", "Most arenas"},
    {"--arena-test", "glibc.malloc.arena_test", "N", "Arenas that are made before their number is limited"},
    {"--tcache-count", "glibc.malloc.tcache_count", "N", "Freed blocks of one size that a thread keeps"},
    {"--tcache-max", "glibc.malloc.tcache_max", "BYTES", "Greatest block that a thread keeps"},
    {"--mxfast", "glibc.malloc.mxfast", "BYTES", "Greatest block that is kept without merging"},
    {"--perturb", "glibc.malloc.perturb", "N", "Fill blocks with this byte"},
    {"--hugetlb", "glibc.malloc.hugetlb", "N", "1: ask for transparent huge pages; 2 or a size: hugetlbfs"},
};

constexpr char kSettings[] = "Settings of glibc's malloc (those of the recorded program hold otherwise)";
constexpr char kReplay[] = "Replay";

// 64K as 65536; whatever is no size is left to glibc's own checks.
std::string PlainNumber(const std::string& value) {
  const absl::StatusOr<uint64_t> bytes = ParseByteSize(value);
  return bytes.ok() ? absl::StrCat(*bytes) : value;
}

}  // namespace

void AddTunableOptions(CLI::App& app, TunableOptions* options, const std::string& group) {
  for (const TunableOption& tunable : kTunableOptions) {
    app.add_option_function<std::string>(
           tunable.option,
           [options, name = std::string(tunable.tunable)](const std::string& value) { options->tunables[name] = value; },
           tunable.description)
        ->transform(ByteSize())
        ->type_name(tunable.type)
        ->group(group);
  }
  app.add_option("--tunable", options->named_tunables, "Any other tunable; may be given several times")
      ->type_name("glibc.NAME=VALUE")
      ->group(group);
}

void AddReplayOptions(CLI::App& app, ReplayOptions* options) {
  AddTunableOptions(app, options, kSettings);
  app.add_option("--allocator", options->allocator,
                 "glibc, jemalloc, tcmalloc, mimalloc, or the path of a shared object")
      ->type_name("NAME|PATH")
      ->capture_default_str()
      ->group(kReplay);
  app.add_option("--trim-at", options->trim_at, "Call malloc_trim(0) after this event, or at the end")
      ->type_name("end|EVENT")
      ->group(kReplay);
  app.add_flag("--check", options->check, "Replay twice, and fail unless both agree in every address and figure")
      ->group(kReplay);
  AddRunOptions(app, options);
}

void AddRunOptions(CLI::App& app, ReplayOptions* options) {
  app.add_option("--glibc", options->glibc_directory, "Directory of another glibc, with its ld.so (default the system's)")
      ->type_name("DIR")
      ->group(kReplay);
  AddChoice(app, "--touch", &options->touch, {"none", "pages"},
            "What is written into blocks: nothing, or a byte into each page, so that resident bytes mean something")
      ->group(kReplay);
  app.add_option("--settle", options->settle_seconds,
                 "After the last event let so much time pass, for allocators that give memory back by the clock")
      ->type_name("SECONDS")
      ->check(CLI::Range(0u, 86400u).description(""))
      ->capture_default_str()
      ->group(kReplay);
  app.add_flag("--ignore-mallopt", options->ignore_mallopt,
               "Leave out the program's own calls of mallopt, which may override the settings")
      ->group(kReplay);
}

absl::StatusOr<TunableMap> TunablesOf(const TunableOptions& options, const std::string& glibc_directory) {
  TunableMap tunables(options.tunables.begin(), options.tunables.end());
  for (const std::string& named : options.named_tunables) {
    const size_t equals = named.find('=');
    if (equals == std::string::npos || equals == 0) {
      return UsageError(absl::StrCat("--tunable: \"", named, "\" is not of the form glibc.NAME=VALUE"));
    }
    const std::string name = named.substr(0, equals);
    const std::string value = PlainNumber(named.substr(equals + 1));
    const auto [there, is_new] = tunables.emplace(name, value);
    if (!is_new && there->second != value) {
      return UsageError(absl::StrCat(name, " is set twice: to ", there->second, " and to ", value));
    }
  }
  if (tunables.empty()) return tunables;
  const absl::StatusOr<Tunables> known = Tunables::Load(glibc_directory);
  if (!known.ok()) return known.status();
  for (const auto& [name, value] : tunables) {
    const absl::StatusOr<std::string> checked = known->Check(name, value);
    if (!checked.ok()) return UsageError(checked.status().message());
  }
  return tunables;
}

absl::StatusOr<ReplaySettings> SettingsOf(const ReplayOptions& options) {
  ReplaySettings settings;
  absl::StatusOr<TunableMap> tunables = TunablesOf(options, options.glibc_directory);
  if (!tunables.ok()) return tunables.status();
  settings.tunables = *std::move(tunables);
  settings.allocator = options.allocator;
  settings.glibc_directory = options.glibc_directory;
  settings.touch = options.touch == "pages" ? Touch::kPages : Touch::kNone;
  settings.trim_at_end = options.trim_at == "end";
  settings.settle_ms = uint64_t{1000} * options.settle_seconds;
  settings.check = options.check;
  return settings;
}

absl::StatusOr<PlanOptions> PlanOf(const ReplayOptions& options, const std::string& until) {
  PlanOptions plan;
  plan.ignore_mallopt = options.ignore_mallopt;
  if (options.trim_at != "end" && !options.trim_at.empty()) {
    const absl::StatusOr<uint64_t> event = ParseEventNumber("--trim-at", options.trim_at);
    if (!event.ok()) return event.status();
    plan.trim_at_event = *event;
  }
  if (!until.empty()) {
    const absl::StatusOr<uint64_t> event = ParseEventNumber("--until", until);
    if (!event.ok()) return event.status();
    plan.until_event = *event;
  }
  return plan;
}

absl::StatusOr<uint64_t> ParseEventNumber(const std::string& option, const std::string& text) {
  uint64_t event = 0;
  if (!absl::SimpleAtoi(text, &event) || event == 0) {
    return UsageError(absl::StrCat(option, ": \"", text, "\" is not the number of an event"));
  }
  return event;
}

absl::StatusOr<ReplayResult> ReplayTrace(const std::string& trace, const PlanOptions& plan,
                                         const ReplaySettings& settings, const std::string& what) {
  auto reader = TraceReader::Open(trace);
  if (!reader.ok()) return reader.status();
  PlanOptions options = plan;
  options.placement = CanComparePlacement((*reader)->header(), settings);
  const InterruptFlag interrupt;
  ProgressLine line(what);
  absl::StatusOr<ReplayResult> result = Replay(trace, options, settings, [&](const ReplayPosition& position) {
    line.Show(position.fraction, position.events);
    return !interrupt.raised();
  });
  line.Clear();
  if (!result.ok()) return result.status();
  const uint64_t calls = result->plan.mallopt_calls;
  if (calls > 0 && result->settings.is_glibc) {
    result->settings.notes.push_back(
        plan.ignore_mallopt
            ? absl::StrCat(calls, " calls of mallopt by the program were left out")
            : absl::StrCat("the program called mallopt ", calls,
                           " times, which overrides the settings above (--ignore-mallopt leaves these calls out)"));
  }
  if (result->stopped) {
    result->settings.notes.push_back(
        absl::StrCat("stopped after event ", result->events_done, ": all figures are as of there"));
  }
  return result;
}

}  // namespace heaptape
