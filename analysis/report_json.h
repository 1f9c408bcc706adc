// The report of `heaptape report --format=json`: everything, by the keys of the
// reports that it is made of.
//
// Mainland. Thread-safe.

#ifndef HEAPTAPE_ANALYSIS_REPORT_JSON_H_
#define HEAPTAPE_ANALYSIS_REPORT_JSON_H_

#include "analysis/full_report.h"
#include "nlohmann/json.hpp"

namespace heaptape {

nlohmann::ordered_json ReportJson(const FullReport& report);

}  // namespace heaptape

#endif  // HEAPTAPE_ANALYSIS_REPORT_JSON_H_
