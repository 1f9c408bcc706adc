// ReportDocument: a full report as headings, paragraphs and tables, before it is
// Markdown or HTML.
//
// Mainland. Thread-safe. Text is plain, of any characters; whoever renders escapes.

#ifndef HEAPTAPE_ANALYSIS_REPORT_DOCUMENT_H_
#define HEAPTAPE_ANALYSIS_REPORT_DOCUMENT_H_

#include <cstddef>
#include <string>
#include <vector>

#include "analysis/full_report.h"

namespace heaptape {

struct DocumentTable {
  std::string caption;
  std::vector<std::string> headings;
  std::string alignment;  // a column a character, as in TextTable
  std::vector<std::vector<std::string>> rows;
  size_t totals = 0;  // of the rows, the last
};

struct DocumentSection {
  std::string id;  // a word
  std::string title;
  std::vector<std::string> paragraphs;
  std::vector<std::string> code;  // lines to paste
  std::vector<DocumentTable> tables;
};

// A figure for the top of the page.
struct Headline {
  std::string value;  // "284.5"
  std::string unit;   // "MB"
  std::string label;
};

struct ReportDocument {
  std::string title;
  std::string verdict;    // the mechanism
  std::string paragraph;  // why
  std::string advice;
  std::string environment;  // to paste; may be empty
  std::vector<Headline> headlines;
  std::vector<DocumentSection> sections;
};

ReportDocument DescribeReport(const FullReport& report);

// Parts of it, and of other reports: how far memory went and what that cost; what a heap
// is made of; its holes.
DocumentSection DescribeReplay(const ReplayResult& result);
DocumentSection DescribeHeap(const HolesReport& holes);
DocumentSection DescribeHoles(const HolesReport& holes);

}  // namespace heaptape

#endif  // HEAPTAPE_ANALYSIS_REPORT_DOCUMENT_H_
