// The report of `heaptape growth --format=json`. Its keys are a promise to those
// who read it by program; numbers of bytes are plain.
//
// Mainland. Thread-safe.

#ifndef HEAPTAPE_ANALYSIS_GROWTH_JSON_H_
#define HEAPTAPE_ANALYSIS_GROWTH_JSON_H_

#include "analysis/growth.h"
#include "nlohmann/json.hpp"

namespace heaptape {

// "story" is null where no block pins the nearest place.
nlohmann::ordered_json GrowthJson(const GrowthReport& report);

}  // namespace heaptape

#endif  // HEAPTAPE_ANALYSIS_GROWTH_JSON_H_
