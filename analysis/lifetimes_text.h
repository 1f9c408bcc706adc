// The reports of `heaptape lifetimes`: to read, and by program.
//
// Mainland. Thread-safe.

#ifndef HEAPTAPE_ANALYSIS_LIFETIMES_TEXT_H_
#define HEAPTAPE_ANALYSIS_LIFETIMES_TEXT_H_

#include <string>
#include <vector>

#include "analysis/lifetimes.h"
#include "nlohmann/json.hpp"

namespace heaptape {

std::string LifetimesText(const LifetimeReport& report);
nlohmann::ordered_json LifetimesJson(const LifetimeReport& report);

// The cells of a class, as in the text: from, to, blocks, bytes, median age, 99 % age,
// outlives the peak %, live, requested, usable.
std::vector<std::string> LifetimeCells(const LifetimeClass& lifetime);

}  // namespace heaptape

#endif  // HEAPTAPE_ANALYSIS_LIFETIMES_TEXT_H_
