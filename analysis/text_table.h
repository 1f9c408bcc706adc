// TextTable: columns of a report that is read on a terminal and pasted into a
// ticket; and numbers as such a report shows them. No colours, no tabs.
//
// Mainland. One thread at a time.

#ifndef HEAPTAPE_ANALYSIS_TEXT_TABLE_H_
#define HEAPTAPE_ANALYSIS_TEXT_TABLE_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/strings/string_view.h"

namespace heaptape {

// 1234567 as "1,234,567".
std::string Grouped(uint64_t number);

// "1 hole", "2 holes", "1,000 holes".
std::string Counted(uint64_t number, absl::string_view noun);

// Bytes as MB (10^6), one decimal: "286.1". Units stand in the heading.
std::string Megabytes(uint64_t bytes);

// 512, 4 KiB, 64 KiB, 1 MiB ...: an exact power-of-1024 unit if there is one.
std::string ShortSize(uint64_t bytes);

// Text of unknown origin with everything that could disturb a terminal escaped.
std::string Printable(absl::string_view text);

class TextTable {
 public:
  // One character a column: 'r' right-aligned, 'l' left-aligned.
  explicit TextTable(std::string alignment);

  // Missing cells at the end are empty.
  void Add(std::vector<std::string> cells);

  // Every row behind `indent` spaces, columns two apart, no trailing spaces.
  std::string Render(int indent = 2) const;

 private:
  const std::string alignment_;
  std::vector<std::vector<std::string>> rows_;
};

}  // namespace heaptape

#endif  // HEAPTAPE_ANALYSIS_TEXT_TABLE_H_
