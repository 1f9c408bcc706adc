// The report of `heaptape replay --format=json`. Its keys are a promise to those
// who read it by program. What could not be measured is null.
//
// Mainland. Thread-safe.

#ifndef HEAPTAPE_ANALYSIS_REPLAY_JSON_H_
#define HEAPTAPE_ANALYSIS_REPLAY_JSON_H_

#include <string>

#include "analysis/holes.h"
#include "nlohmann/json.hpp"
#include "replayer/driver/replay_result.h"

namespace heaptape {

// `holes` is FindHoles(result, ...); `checked` says that a second replay agreed.
nlohmann::ordered_json ReplayJson(const std::string& trace, const ReplayResult& result, const HolesReport& holes,
                                  bool checked);

// Settings by name, numbers as numbers.
nlohmann::ordered_json TunablesJson(const TunableMap& tunables);

}  // namespace heaptape

#endif  // HEAPTAPE_ANALYSIS_REPLAY_JSON_H_
