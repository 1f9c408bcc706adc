// ReplayDiff: two replays side by side, and limits on how far they may be apart.
//
// Mainland. Thread-safe. Works on what `heaptape replay --format=json` prints, so that
// a replay may have been made yesterday, elsewhere. Replays are deterministic: a
// difference is never noise (but for times, faults and resident bytes).

#ifndef HEAPTAPE_ANALYSIS_REPLAY_DIFF_H_
#define HEAPTAPE_ANALYSIS_REPLAY_DIFF_H_

#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "nlohmann/json.hpp"

namespace heaptape {

struct DiffRow {
  std::string key;  // "end.system_bytes"
  std::optional<double> a, b;  // unset: not known there
};

struct ReplayDiff {
  std::string a, b;                // what they are
  bool same_digest = false;
  std::vector<DiffRow> rows;
};

// Numbers of both, by key, in the order of the reports. InvalidArgument if one is no
// such report.
absl::StatusOr<ReplayDiff> DiffReplays(const nlohmann::ordered_json& a, const nlohmann::ordered_json& b);

// "end.system_bytes>+5%": a key; >, >=, < or <=; and a limit. With a sign the limit
// is on the change from A to B, in percent or in units; without one, on B. K, M and G
// are powers of 1024.
struct DiffLimit {
  std::string text;
  std::string key;
  bool greater = true;
  bool or_equal = false;
  bool change = false;
  bool percent = false;
  double limit = 0;
};

absl::StatusOr<DiffLimit> ParseDiffLimit(const std::string& text);

// One line on how the limit is broken, or none. NotFound if the key is of no row,
// or not known.
absl::StatusOr<std::optional<std::string>> Broken(const DiffLimit& limit, const ReplayDiff& diff);

std::string ReplayDiffText(const ReplayDiff& diff);
nlohmann::ordered_json ReplayDiffJson(const ReplayDiff& diff, const std::vector<std::string>& broken);

}  // namespace heaptape

#endif  // HEAPTAPE_ANALYSIS_REPLAY_DIFF_H_
