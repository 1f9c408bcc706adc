// The report of `heaptape sweep` to read, as Markdown, and as a table for other programs.
//
// Mainland. Thread-safe.

#ifndef HEAPTAPE_ANALYSIS_SWEEP_TEXT_H_
#define HEAPTAPE_ANALYSIS_SWEEP_TEXT_H_

#include <string>

#include "analysis/sweep_report.h"

namespace heaptape {

// Rows that came out alike in everything are one line.
std::string SweepText(const SweepReport& report);
std::string SweepMarkdown(const SweepReport& report);

// A line for each row, in order of rank, behind a line of names: those of the JSON
// report, with dots.
std::string SweepCsv(const SweepReport& report);

}  // namespace heaptape

#endif  // HEAPTAPE_ANALYSIS_SWEEP_TEXT_H_
