#include "analysis/text_table.h"

#include <algorithm>
#include <utility>

#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "absl/strings/str_format.h"

namespace heaptape {

std::string Grouped(uint64_t number) {
  std::string digits = absl::StrCat(number);
  for (size_t at = digits.size(); at > 3;) {
    at -= 3;
    digits.insert(at, ",");
  }
  return digits;
}

std::string Counted(uint64_t number, absl::string_view noun) {
  return absl::StrCat(Grouped(number), " ", noun, number == 1 ? "" : "s");
}

std::string Megabytes(uint64_t bytes) { return absl::StrFormat("%.1f", static_cast<double>(bytes) / 1e6); }

std::string ShortSize(uint64_t bytes) {
  constexpr const char* kUnits[] = {"", " KiB", " MiB", " GiB", " TiB"};
  size_t unit = 0;
  while (unit + 1 < std::size(kUnits) && bytes >= 1024 && bytes % 1024 == 0) {
    bytes /= 1024;
    ++unit;
  }
  return absl::StrCat(bytes, kUnits[unit]);
}

std::string Printable(absl::string_view text) {
  // Quotes are harmless, and stand in lines to paste.
  return absl::StrReplaceAll(absl::Utf8SafeCHexEscape(text), {{"\\\\", "\\\\"}, {"\\\"", "\""}, {"\\'", "'"}});
}

TextTable::TextTable(std::string alignment) : alignment_(std::move(alignment)) {}

void TextTable::Add(std::vector<std::string> cells) {
  cells.resize(alignment_.size());
  rows_.push_back(std::move(cells));
}

std::string TextTable::Render(int indent) const {
  std::vector<size_t> widths(alignment_.size());
  for (const std::vector<std::string>& row : rows_) {
    for (size_t i = 0; i < row.size(); ++i) widths[i] = std::max(widths[i], row[i].size());
  }
  std::string text;
  for (const std::vector<std::string>& row : rows_) {
    std::string line(static_cast<size_t>(indent), ' ');
    for (size_t i = 0; i < row.size(); ++i) {
      const std::string padding(widths[i] - row[i].size(), ' ');
      if (i > 0) line += "  ";
      line += alignment_[i] == 'r' ? padding + row[i] : row[i] + padding;
    }
    line.erase(line.find_last_not_of(' ') + 1);
    text += line + "\n";
  }
  return text;
}

}  // namespace heaptape
