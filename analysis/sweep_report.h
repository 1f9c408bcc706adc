// SweepReport: a sweep, ranked, with what to make of it.
//
// Mainland. Thread-safe.

#ifndef HEAPTAPE_ANALYSIS_SWEEP_REPORT_H_
#define HEAPTAPE_ANALYSIS_SWEEP_REPORT_H_

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "analysis/recommendation.h"
#include "analysis/setting_lines.h"
#include "analysis/sweep.h"

namespace heaptape {

struct SweepReport {
  std::string trace;
  Sweep sweep;
  std::vector<size_t> ranked;  // of sweep.rows: least held first, those that failed last
  Recommendation recommendation;
  std::vector<SettingLines> lines;  // for the recommended row; empty if there is none
};

// `duration_ns`: how long the recorded program took; 0: not known.
SweepReport MakeSweepReport(const std::string& trace, Sweep sweep, uint64_t duration_ns);

}  // namespace heaptape

#endif  // HEAPTAPE_ANALYSIS_SWEEP_REPORT_H_
