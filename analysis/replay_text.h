// The report of `heaptape replay` to read, and to paste into a ticket.
//
// Mainland. Thread-safe.

#ifndef HEAPTAPE_ANALYSIS_REPLAY_TEXT_H_
#define HEAPTAPE_ANALYSIS_REPLAY_TEXT_H_

#include <cstdint>
#include <string>
#include <vector>

#include "analysis/holes.h"
#include "replayer/driver/replay_result.h"

namespace heaptape {

// `holes` is FindHoles(result, ...); `checked` says that a second replay agreed.
std::string ReplayText(const std::string& trace, const ReplayResult& result, const HolesReport& holes, bool checked);

// Rows of its tables, for other renderings. Peaks: what, peak bytes, MB, at event, end
// bytes, MB. Cost: figure, of what.
std::vector<std::string> PeakRow(const std::string& what, const Peak& peak, uint64_t end_bytes);
std::vector<std::vector<std::string>> PeakRows(const ReplayResult& result);
std::vector<std::vector<std::string>> CostRows(const ReplayResult& result);

// The lines that say what was replayed, under which settings, and the digest; for
// other reports on a replay to begin with.
std::string ReplayHeadText(const std::string& trace, const ReplayResult& result, bool checked = false);

}  // namespace heaptape

#endif  // HEAPTAPE_ANALYSIS_REPLAY_TEXT_H_
