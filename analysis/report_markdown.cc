#include "analysis/report_markdown.h"

#include <algorithm>
#include <cstring>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "analysis/text_table.h"

namespace heaptape {
namespace {

// In a code block only its own fence means anything, and ends of lines.
std::string CodeText(const std::string& text) {
  std::string code = Printable(text);
  for (size_t at = code.find("```"); at != std::string::npos; at = code.find("```", at)) code.replace(at, 3, "'''");
  return code;
}

void AddTable(const DocumentTable& table, size_t rows_shown, std::string* text) {
  if (!table.caption.empty()) absl::StrAppend(text, "\n**", MarkdownText(table.caption), "**\n");
  const auto row = [text](const std::vector<std::string>& cells, bool bold) {
    for (const std::string& cell : cells) {
      const std::string shown = MarkdownText(cell);
      absl::StrAppend(text, "| ", bold && !shown.empty() ? absl::StrCat("**", shown, "**") : shown, " ");
    }
    absl::StrAppend(text, "|\n");
  };
  text->append("\n");
  row(table.headings, false);
  for (char alignment : table.alignment) absl::StrAppend(text, alignment == 'r' ? "|--:" : "|:--");
  absl::StrAppend(text, "|\n");
  const size_t body = table.rows.size() - table.totals;
  const size_t shown = std::min(body, rows_shown);
  for (size_t i = 0; i < shown; ++i) row(table.rows[i], false);
  if (shown < body) {
    std::vector<std::string> left_out(table.headings.size());
    left_out[0] = absl::StrCat("[", Counted(body - shown, "row"), " left out]");
    row(left_out, false);
  }
  for (size_t i = body; i < table.rows.size(); ++i) row(table.rows[i], true);
}

std::string Rendered(const ReportDocument& document, size_t rows_a_table) {
  std::string text = absl::StrCat("# ", MarkdownText(document.title), "\n\n**Verdict: ", MarkdownText(document.verdict), ".** ",
                                  MarkdownText(document.paragraph), "\n");
  if (!document.advice.empty()) absl::StrAppend(&text, "\n", MarkdownText(document.advice), "\n");
  if (!document.environment.empty()) absl::StrAppend(&text, "\n```\n", CodeText(document.environment), "\n```\n");
  DocumentTable headlines;
  headlines.rows.emplace_back();
  for (const Headline& headline : document.headlines) {
    headlines.headings.push_back(headline.label);
    headlines.alignment += 'r';
    headlines.rows[0].push_back(headline.unit.empty() ? headline.value : absl::StrCat(headline.value, " ", headline.unit));
  }
  AddTable(headlines, 1, &text);
  for (const DocumentSection& section : document.sections) text += SectionMarkdown(section, rows_a_table);
  return text;
}

}  // namespace

std::string MarkdownText(const std::string& text) {
  std::string escaped;
  for (char c : Printable(text)) {
    if (c == '<') {
      escaped += "&lt;";
    } else if (c == '&') {
      escaped += "&amp;";
    } else {
      if (std::strchr("\\`*_[]|#~@", c) != nullptr) escaped += '\\';
      escaped += c;
    }
  }
  return escaped;
}

std::string SectionMarkdown(const DocumentSection& section, size_t rows_a_table) {
  std::string text = absl::StrCat("\n## ", MarkdownText(section.title), "\n");
  for (const std::string& paragraph : section.paragraphs) absl::StrAppend(&text, "\n", MarkdownText(paragraph), "\n");
  if (!section.code.empty()) {
    absl::StrAppend(&text, "\n```\n");
    for (const std::string& line : section.code) absl::StrAppend(&text, CodeText(line), "\n");
    absl::StrAppend(&text, "```\n");
  }
  for (const DocumentTable& table : section.tables) AddTable(table, rows_a_table, &text);
  return text;
}

std::string ReportMarkdown(const ReportDocument& document, size_t limit_bytes) {
  std::string text;
  for (size_t rows : {1000, 100, 30, 10, 3}) {
    text = Rendered(document, rows);
    if (text.size() <= limit_bytes) return text;
  }
  // Whole lines, as many as go in.
  const std::string end = "\n\n(cut here: the report is longer than a ticket takes)\n";
  if (limit_bytes > end.size()) {
    text.resize(limit_bytes - end.size());
    text.resize(text.find_last_of('\n') == std::string::npos ? 0 : text.find_last_of('\n'));
    text += end;
  }
  return text;
}

}  // namespace heaptape
