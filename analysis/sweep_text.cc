#include "analysis/sweep_text.h"

#include <cstdint>
#include <iterator>
#include <utility>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_replace.h"
#include "analysis/replay_text.h"
#include "analysis/report_document.h"
#include "analysis/report_markdown.h"
#include "analysis/sweep_json.h"
#include "analysis/text_table.h"

namespace heaptape {
namespace {

constexpr size_t kAllRows = 1'000'000;

// "-273.8", "+0.1", "=".
std::string ChangedMegabytes(uint64_t now, uint64_t before) {
  const std::string text = absl::StrFormat("%+.1f", 1e-6 * (static_cast<double>(now) - static_cast<double>(before)));
  return text == "+0.0" || text == "-0.0" ? "=" : text;
}

std::string Changed(uint64_t now, uint64_t before) {
  if (now == before) return "=";
  return now > before ? absl::StrCat("+", Grouped(now - before)) : absl::StrCat("-", Grouped(before - now));
}

// Rows that came out alike, and stand one behind another in the ranking.
std::vector<std::vector<size_t>> Alike(const SweepReport& report) {
  const auto same = [&report](size_t a, size_t b) {
    const SweepRow& x = report.sweep.rows[a];
    const SweepRow& y = report.sweep.rows[b];
    return x.ok() && y.ok() && x.digest == y.digest && x.peak == y.peak && x.end == y.end &&
           x.trimmable_bytes == y.trimmable_bytes && x.minor_faults == y.minor_faults &&
           Total(x.syscalls) == Total(y.syscalls) && x.peak_mappings == y.peak_mappings;
  };
  std::vector<std::vector<size_t>> groups;
  for (size_t i : report.ranked) {
    if (groups.empty() || !same(groups.back()[0], i)) groups.emplace_back();
    groups.back().push_back(i);
  }
  return groups;
}

std::string Names(const SweepReport& report, const std::vector<size_t>& group) {
  return absl::StrJoin(group, "; ", [&report](std::string* text, size_t i) {
    absl::StrAppend(text, PointName(report.sweep.rows[i].point), i == report.recommendation.row ? " (recommended)" : "");
  });
}

DocumentSection DescribeRows(const SweepReport& report) {
  const Sweep& sweep = report.sweep;
  const SweepRow& recorded = sweep.rows.front();
  const bool touched = IsTouched(sweep);
  DocumentSection section = {.id = "rows", .title = "What each setting comes to", .paragraphs = {}, .code = {}, .tables = {}};
  section.paragraphs.push_back(absl::StrCat(
      "Least first, by the mean of peak and end ", touched ? "resident" : "system", " bytes; changes are those from the recorded settings. ",
      touched ? "One byte of each page of a block was written to: a program that leaves pages untouched has less resident."
              : "Blocks were not written to: resident bytes and page faults are far less than the program's."));
  DocumentTable bytes = {.caption = "Memory, MB",
                         .headings = {"", "resident end", "", "peak", "", "system end", "", "peak", "", "trimmable", "setting"},
                         .alignment = "rrrrrrrrrrl", .rows = {}, .totals = 0};
  DocumentTable costs = {.caption = "Cost",
                         .headings = {"", "page faults", "", "memory calls", "", absl::StrCat("mappings of ", Grouped(kMapLimit)), "", "seconds", "setting"},
                         .alignment = "rrrrrrrrl", .rows = {}, .totals = 0};
  size_t rank = 0;
  for (const std::vector<size_t>& group : Alike(report)) {
    const SweepRow& row = sweep.rows[group[0]];
    const std::string number = absl::StrCat(++rank);
    const std::string names = Names(report, group);
    if (!row.ok()) {
      bytes.rows.push_back({"-", "", "", "", "", "", "", "", "", "", absl::StrCat(names, ": ", row.failure)});
      continue;
    }
    bytes.rows.push_back({number, Megabytes(row.end.resident), ChangedMegabytes(row.end.resident, recorded.end.resident),
                          Megabytes(row.peak.resident), ChangedMegabytes(row.peak.resident, recorded.peak.resident),
                          Megabytes(row.end.system), ChangedMegabytes(row.end.system, recorded.end.system),
                          Megabytes(row.peak.system), ChangedMegabytes(row.peak.system, recorded.peak.system),
                          Megabytes(row.trimmable_bytes), names});
    const std::vector<std::string> remarks = RemarksOn(sweep, row);
    costs.rows.push_back({number, Grouped(row.minor_faults), Changed(row.minor_faults, recorded.minor_faults),
                          Grouped(Total(row.syscalls)), Changed(Total(row.syscalls), Total(recorded.syscalls)),
                          Grouped(row.peak_mappings), Changed(row.peak_mappings, recorded.peak_mappings),
                          absl::StrFormat("%.2f", row.allocator_seconds),
                          absl::StrCat(PointName(row.point), group.size() == 1 ? "" : absl::StrCat(" and ", group.size() - 1, " more"),
                                       remarks.empty() ? "" : ": ", absl::StrJoin(remarks, "; "))});
  }
  section.tables = {std::move(bytes), std::move(costs)};
  return section;
}

DocumentSection DescribeRecommendation(const SweepReport& report) {
  const Recommendation& advice = report.recommendation;
  DocumentSection section = {.id = "recommendation", .title = "", .paragraphs = {}, .code = {}, .tables = {}};
  section.title = absl::StrCat("Recommended: ", advice.row.has_value() ? PointName(report.sweep.rows[*advice.row].point) : "nothing");
  section.paragraphs.push_back(absl::StrCat("Mechanism: ", MechanismName(advice.verdict.mechanism), "."));
  section.paragraphs.push_back(advice.reason);
  if (advice.row.has_value() && !advice.verdict.paragraph.empty()) section.paragraphs.push_back(advice.verdict.paragraph);
  if (!advice.freeze.empty()) section.paragraphs.push_back(advice.freeze);
  if (!advice.price.empty()) section.paragraphs.push_back(absl::StrCat("Price: ", advice.price, "."));
  for (const std::string& warning : advice.warnings) section.paragraphs.push_back(absl::StrCat("Warning: ", warning));
  if (!advice.alternatives.empty()) {
    DocumentTable table = {.caption = "Why not another", .headings = {"gains MB", "best of it", ""}, .alignment = "rll", .rows = {}, .totals = 0};
    for (const Alternative& other : advice.alternatives) {
      const std::string gain = absl::StrFormat("%.1f", 1e-6 * static_cast<double>(other.gained_bytes));
      table.rows.push_back({gain == "-0.0" ? "0.0" : gain, PointName(report.sweep.rows[other.row].point), other.why});
    }
    section.tables.push_back(std::move(table));
  }
  return section;
}

std::vector<DocumentSection> Describe(const SweepReport& report) {
  std::vector<DocumentSection> sections = {DescribeRows(report), DescribeRecommendation(report)};
  for (const SettingLines& way : report.lines) {
    sections.push_back({.id = way.id, .title = way.where, .paragraphs = {way.reach}, .code = way.lines, .tables = {}});
  }
  return sections;
}

std::string SectionText(const DocumentSection& section) {
  std::string text = absl::StrCat("\n", section.title, "\n");
  for (const std::string& line : section.code) absl::StrAppend(&text, "    ", Printable(line), "\n");
  for (const std::string& paragraph : section.paragraphs) absl::StrAppend(&text, "  ", Printable(paragraph), "\n");
  for (const DocumentTable& table : section.tables) {
    TextTable rendered(table.alignment);
    rendered.Add(table.headings);
    for (const std::vector<std::string>& row : table.rows) rendered.Add(row);
    absl::StrAppend(&text, "\n  ", table.caption, "\n", rendered.Render());
  }
  return text;
}

// A row of the JSON report, made flat: its settings in one cell.
nlohmann::ordered_json FlatRow(const SweepRow& row) {
  nlohmann::ordered_json json = SweepRowJson(row);
  json["settings"]["tunables"] = absl::StrJoin(row.point.tunables, ":", absl::PairFormatter("="));
  return json.flatten();
}

std::string CsvCell(const nlohmann::ordered_json& value) {
  if (value.is_null()) return "";
  const std::string text = value.is_string() ? value.get<std::string>() : value.dump();
  if (text.find_first_of(",\"\n") == std::string::npos) return text;
  return absl::StrCat("\"", absl::StrReplaceAll(text, {{"\"", "\"\""}}), "\"");
}

}  // namespace

std::string SweepText(const SweepReport& report) {
  std::string text = ReplayHeadText(report.trace, report.sweep.recorded);
  for (const DocumentSection& section : Describe(report)) text += SectionText(section);
  return text;
}

std::string SweepMarkdown(const SweepReport& report) {
  std::string text = absl::StrCat("```\n", ReplayHeadText(report.trace, report.sweep.recorded), "```\n");
  for (const DocumentSection& section : Describe(report)) text += SectionMarkdown(section, kAllRows);
  return text;
}

std::string SweepCsv(const SweepReport& report) {
  // A row that failed lacks most of them.
  const nlohmann::ordered_json columns = FlatRow(SweepRow());
  std::vector<std::string> cells;
  for (const auto& [pointer, value] : columns.items()) {
    cells.push_back(absl::StrReplaceAll(pointer.substr(1), {{"/", "."}}));
  }
  std::string text = absl::StrCat(absl::StrJoin(cells, ","), "\n");
  for (size_t i : report.ranked) {
    const nlohmann::ordered_json row = FlatRow(report.sweep.rows[i]);
    cells.clear();
    for (const auto& [pointer, value] : columns.items()) {
      cells.push_back(row.contains(pointer) ? CsvCell(row[pointer]) : "");
    }
    absl::StrAppend(&text, absl::StrJoin(cells, ","), "\n");
  }
  return text;
}

}  // namespace heaptape
