// ReplayOptions: what `heaptape replay` and every other command that replays
// take on their command lines to say how.
//
// Mainland, above everything. Main thread alone.

#ifndef HEAPTAPE_TOOLS_REPLAY_OPTIONS_H_
#define HEAPTAPE_TOOLS_REPLAY_OPTIONS_H_

#include <map>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "replayer/driver/replay_result.h"
#include "replayer/driver/replay_settings.h"
#include "replayer/plan/plan_compiler.h"
#include "tools/command_set.h"

namespace heaptape {

struct TunableOptions {
  std::map<std::string, std::string> tunables;  // by full name, from options of their own
  std::vector<std::string> named_tunables;      // glibc.NAME=VALUE
};

struct ReplayOptions : TunableOptions {
  std::string allocator = "glibc";
  std::string glibc_directory;
  std::string touch = "none";
  std::string trim_at;
  uint32_t settle_seconds = 0;
  bool ignore_mallopt = false;
  bool check = false;
};

// Adds those that set tunables, under the heading `group`; `options` outlives the command.
void AddTunableOptions(CLI::App& app, TunableOptions* options, const std::string& group);
// Adds the options to a command; `options` outlives it.
void AddReplayOptions(CLI::App& app, ReplayOptions* options);
// Those alone that say how to replay, whatever the settings: for commands that choose
// settings themselves.
void AddRunOptions(CLI::App& app, ReplayOptions* options);

// What they set, by full name. A UsageError, as below.
absl::StatusOr<TunableMap> TunablesOf(const TunableOptions& options, const std::string& glibc_directory);

// What they mean. A UsageError names a tunable that glibc would silently ignore,
// or a number that is none.
absl::StatusOr<ReplaySettings> SettingsOf(const ReplayOptions& options);
// The plan ends after event `until`, the text of an --until; empty: at the trace's end.
absl::StatusOr<PlanOptions> PlanOf(const ReplayOptions& options, const std::string& until = "");

// An event number, from 1. UsageError, naming `option`, if it is none.
absl::StatusOr<uint64_t> ParseEventNumber(const std::string& option, const std::string& text);

// An interrupt (Ctrl-C) ends the replay: the result is then a part of it, `stopped`.
//
// Replays `trace`, comparing placements where that means something. How far it is shows on standard error if that is a terminal,
// behind `what`, a present participle. Notes on settings that the program itself
// overrides are among the result's.
absl::StatusOr<ReplayResult> ReplayTrace(const std::string& trace, const PlanOptions& plan,
                                         const ReplaySettings& settings, const std::string& what);

}  // namespace heaptape

#endif  // HEAPTAPE_TOOLS_REPLAY_OPTIONS_H_
