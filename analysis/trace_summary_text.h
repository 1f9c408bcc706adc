// The report of `heaptape info`: a TraceSummary as text or as JSON.
//
// Mainland. Thread-safe.

#ifndef HEAPTAPE_ANALYSIS_TRACE_SUMMARY_TEXT_H_
#define HEAPTAPE_ANALYSIS_TRACE_SUMMARY_TEXT_H_

#include <string>

#include "analysis/trace_summary.h"

namespace heaptape {

std::string TraceSummaryText(const TraceSummary& summary);
std::string TraceSummaryJson(const TraceSummary& summary);

// "complete", or how far it is and what is missing. One line, without its end.
std::string HealthText(const TraceHealth& health);

}  // namespace heaptape

#endif  // HEAPTAPE_ANALYSIS_TRACE_SUMMARY_TEXT_H_
