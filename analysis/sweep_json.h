// A sweep as JSON: its rows, which a later sweep can read back, and the whole report.
//
// Mainland. Thread-safe.

#ifndef HEAPTAPE_ANALYSIS_SWEEP_JSON_H_
#define HEAPTAPE_ANALYSIS_SWEEP_JSON_H_

#include "absl/status/statusor.h"
#include "analysis/sweep.h"
#include "analysis/sweep_report.h"
#include "nlohmann/json.hpp"

namespace heaptape {

nlohmann::ordered_json SweepRowJson(const SweepRow& row);

// The row that `json` was made from. InvalidArgument if it was made from none.
absl::StatusOr<SweepRow> ParseSweepRow(const nlohmann::ordered_json& json);

// The report of `heaptape sweep --format=json`: rows in order of rank, each with its
// changes from the recorded settings; what is recommended, or null and why.
nlohmann::ordered_json SweepJson(const SweepReport& report);

}  // namespace heaptape

#endif  // HEAPTAPE_ANALYSIS_SWEEP_JSON_H_
