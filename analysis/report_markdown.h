// A report for a ticket, as Markdown that GitHub renders.
//
// Mainland. Thread-safe.

#ifndef HEAPTAPE_ANALYSIS_REPORT_MARKDOWN_H_
#define HEAPTAPE_ANALYSIS_REPORT_MARKDOWN_H_

#include <cstddef>
#include <string>

#include "analysis/report_document.h"

namespace heaptape {

// What a ticket takes.
inline constexpr size_t kMarkdownLimitBytes = 60'000;

// At most `limit_bytes`, unless less would hold no more than the beginning: rows of
// long tables give way first, and what was left out is said.
std::string ReportMarkdown(const ReportDocument& document, size_t limit_bytes = kMarkdownLimitBytes);

// One section, with its title.
std::string SectionMarkdown(const DocumentSection& section, size_t rows_a_table);

// Text in which Markdown and HTML mean nothing.
std::string MarkdownText(const std::string& text);

}  // namespace heaptape

#endif  // HEAPTAPE_ANALYSIS_REPORT_MARKDOWN_H_
