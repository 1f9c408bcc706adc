// The report of `heaptape replay` to read, and to paste into a ticket.
//
// Mainland. Thread-safe.

#ifndef HEAPTAPE_ANALYSIS_REPLAY_TEXT_H_
#define HEAPTAPE_ANALYSIS_REPLAY_TEXT_H_

#include <string>

#include "analysis/holes.h"
#include "replayer/driver/replay_result.h"

namespace heaptape {

// `holes` is FindHoles(result, ...); `checked` says that a second replay agreed.
std::string ReplayText(const std::string& trace, const ReplayResult& result, const HolesReport& holes, bool checked);

// The lines that say what was replayed, under which settings, and the digest; for
// other reports on a replay to begin with.
std::string ReplayHeadText(const std::string& trace, const ReplayResult& result);

}  // namespace heaptape

#endif  // HEAPTAPE_ANALYSIS_REPLAY_TEXT_H_
