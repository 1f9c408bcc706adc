// JsonText: JSON as a report.
//
// Mainland. Thread-safe.

#ifndef HEAPTAPE_ANALYSIS_JSON_TEXT_H_
#define HEAPTAPE_ANALYSIS_JSON_TEXT_H_

#include <string>

#include "nlohmann/json.hpp"

namespace heaptape {

// Indented, with an end of line behind it. Bytes that are no UTF-8, as a path may
// have them, are replaced.
inline std::string JsonText(const nlohmann::ordered_json& json) {
  return json.dump(2, ' ', false, nlohmann::ordered_json::error_handler_t::replace) + "\n";
}

}  // namespace heaptape

#endif  // HEAPTAPE_ANALYSIS_JSON_TEXT_H_
