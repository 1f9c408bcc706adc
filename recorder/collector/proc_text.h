// Small text files, as /proc, /sys and image directories have them.
//
// Mainland. Thread-safe.

#ifndef HEAPTAPE_RECORDER_COLLECTOR_PROC_TEXT_H_
#define HEAPTAPE_RECORDER_COLLECTOR_PROC_TEXT_H_

#include <cstdint>
#include <fstream>
#include <sstream>
#include <string>
#include <vector>

#include "absl/strings/numbers.h"
#include "absl/strings/str_split.h"
#include "absl/strings/string_view.h"

namespace heaptape {

// All of a file; empty if it cannot be read.
inline std::string ReadText(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  std::stringstream text;
  text << file.rdbuf();
  return text.str();
}

// The fields of a /proc/PID/stat from the third on; the second, a name, may hold
// spaces and parentheses. Empty if the text is no such file.
inline std::vector<std::string> StatFields(const std::string& stat) {
  const size_t end = stat.rfind(')');
  if (end == std::string::npos || end + 2 > stat.size()) return {};
  return absl::StrSplit(stat.substr(end + 2), ' ');
}

// A field as a number; 0 where there is none.
inline uint64_t NumberAt(const std::vector<std::string>& fields, size_t index) {
  uint64_t number = 0;
  return index < fields.size() && absl::SimpleAtoi(fields[index], &number) ? number : 0;
}

}  // namespace heaptape

#endif  // HEAPTAPE_RECORDER_COLLECTOR_PROC_TEXT_H_
