// A report as one self-contained page: no network, no other file.
//
// Mainland. Thread-safe. Tables are HTML and are there without scripts; the timeline
// and the maps are drawn from data that the page holds. Its size does not grow with
// the trace.

#ifndef HEAPTAPE_ANALYSIS_REPORT_HTML_H_
#define HEAPTAPE_ANALYSIS_REPORT_HTML_H_

#include <string>

#include "analysis/full_report.h"
#include "analysis/report_document.h"

namespace heaptape {

std::string ReportHtml(const FullReport& report, const ReportDocument& document);

}  // namespace heaptape

#endif  // HEAPTAPE_ANALYSIS_REPORT_HTML_H_
