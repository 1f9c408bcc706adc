#include "analysis/report_html.h"

#include <utility>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "analysis/holes_text.h"
#include "analysis/text_table.h"
#include "analysis/web_files.h"
#include "nlohmann/json.hpp"

namespace heaptape {
namespace {

using nlohmann::ordered_json;

constexpr size_t kTimelinePoints = 2048;

std::string Escaped(const std::string& text) {
  return absl::StrReplaceAll(Printable(text), {{"&", "&amp;"}, {"<", "&lt;"}, {">", "&gt;"}, {"\"", "&quot;"}});
}

void AddTable(const DocumentTable& table, std::string* html) {
  absl::StrAppend(html, "<figure>");
  if (!table.caption.empty()) absl::StrAppend(html, "<figcaption>", Escaped(table.caption), "</figcaption>");
  absl::StrAppend(html, "<div class=\"scroll\"><table>");
  const auto cell = [&](const char* tag, size_t column, const std::string& text) {
    // The last column may hold a sentence, or a path.
    const bool wraps = table.alignment[column] == 'l' && column + 1 == table.alignment.size() && text.size() > 40;
    absl::StrAppend(html, "<", tag, table.alignment[column] == 'r' ? " class=\"r\"" : wraps ? " class=\"wrap\"" : "", ">",
                    Escaped(text), "</", tag, ">");
  };
  bool headed = false;
  for (const std::string& heading : table.headings) headed = headed || !heading.empty();
  if (headed) {
    absl::StrAppend(html, "<thead><tr>");
    for (size_t i = 0; i < table.headings.size(); ++i) cell("th", i, table.headings[i]);
    absl::StrAppend(html, "</tr></thead>");
  }
  absl::StrAppend(html, "<tbody>\n");
  for (size_t r = 0; r < table.rows.size(); ++r) {
    absl::StrAppend(html, r + table.totals >= table.rows.size() ? "<tr class=\"total\">" : "<tr>");
    for (size_t i = 0; i < table.rows[r].size(); ++i) cell("td", i, table.rows[r][i]);
    absl::StrAppend(html, "</tr>\n");
  }
  absl::StrAppend(html, "</tbody></table></div></figure>\n");
}

void AddSection(const DocumentSection& section, std::string* html) {
  absl::StrAppend(html, "<section id=\"", section.id, "\"><h2>", Escaped(section.title), "</h2>\n");
  for (const std::string& paragraph : section.paragraphs) absl::StrAppend(html, "<p>", Escaped(paragraph), "</p>\n");
  for (const std::string& line : section.code) absl::StrAppend(html, "<pre>", Escaped(line), "</pre>\n");
  for (const DocumentTable& table : section.tables) AddTable(table, html);
  absl::StrAppend(html, "</section>\n");
}

ordered_json TimelineData(const Timeline& whole) {
  const Timeline timeline = Thinned(whole, kTimelinePoints);
  std::vector<uint64_t> event, requested, usable, system, resident;
  ordered_json recorded = ordered_json::array();
  for (const TimelinePoint& point : timeline.points) {
    event.push_back(point.event);
    requested.push_back(point.requested_bytes);
    usable.push_back(point.usable_bytes);
    system.push_back(point.system_bytes);
    resident.push_back(point.resident_bytes);
    const uint64_t then = RecordedAt(whole, point.event);
    recorded.push_back(then == 0 ? ordered_json() : ordered_json(then));
  }
  return {{"event", event}, {"requested", requested}, {"usable", usable}, {"system", system}, {"resident", resident},
          {"recorded", whole.recorded.empty() ? ordered_json() : recorded}};
}

// A picture's cells: [live %, free %, number of its hole or -1, of its block or -1], and
// what these are, once each.
ordered_json MapData(const HeapPicture& picture) {
  const ReplayHeap& heap = picture.heap;
  ordered_json strips = ordered_json::array();
  ordered_json holes = ordered_json::array();
  ordered_json blocks = ordered_json::array();
  absl::flat_hash_map<size_t, int> hole_numbers, block_numbers;
  const auto hole_number = [&](size_t index) {
    if (index == HeapCell::kNone) return -1;
    const auto [found, is_new] = hole_numbers.try_emplace(index, static_cast<int>(holes.size()));
    if (is_new) {
      const Hole& hole = heap.map.holes[index];
      holes.push_back(absl::StrCat(Counted(hole.bytes, "byte"), ", pinned by ",
                                   NeighbourText(NeighbourAt(hole.after, heap.blocks), "nothing: end of region")));
    }
    return found->second;
  };
  const auto block_number = [&](size_t index) {
    if (index == HeapCell::kNone) return -1;
    const auto [found, is_new] = block_numbers.try_emplace(index, static_cast<int>(blocks.size()));
    if (is_new) {
      const Neighbour block = {.kind = Neighbour::Kind::kBlock, .block = heap.blocks[index]};
      blocks.push_back(absl::StrCat(Counted(block.block.usable_bytes, "byte"), ": ", NeighbourText(block, "")));
    }
    return found->second;
  };
  for (const HeapStrip& strip : picture.cells.strips) {
    ordered_json cells = ordered_json::array();
    for (size_t i = 0; i < strip.cells.size(); ++i) {
      const HeapCell& cell = strip.cells[i];
      const uint64_t size = std::min(picture.cells.cell_bytes, strip.bytes - i * picture.cells.cell_bytes);
      cells.push_back({cell.live_bytes * 100 / size, cell.hole_bytes * 100 / size, hole_number(cell.hole), block_number(cell.block)});
    }
    strips.push_back({{"name", strip.one_block ? "mappings of single blocks" : RegionName(strip.origin)},
                      {"bytes", strip.bytes},
                      {"cells", cells}});
  }
  return {{"cell_bytes", picture.cells.cell_bytes}, {"strips", strips}, {"holes", holes}, {"blocks", blocks}};
}

void AddMap(const char* when, const HeapPicture& picture, int number, std::string* html) {
  absl::StrAppend(html, "<figure><figcaption>", when, ", after event ", Grouped(picture.at_event), "; a cell is ",
                  ShortSize(picture.cells.cell_bytes), "</figcaption><div class=\"panel\"><canvas class=\"map\" id=\"map", number,
                  "\" role=\"img\" aria-label=\"Map of the heap: ", Grouped(picture.heap.map.usable_bytes), " bytes live, ",
                  Grouped(picture.heap.map.hole_bytes), " free\"></canvas></div></figure>\n");
}

}  // namespace

std::string ReportHtml(const FullReport& report, const ReportDocument& document) {
  ordered_json maps = ordered_json::array();
  maps.push_back(MapData(report.end));
  if (report.peak.has_value()) maps.push_back(MapData(*report.peak));
  const ordered_json data = {{"timeline", TimelineData(report.timeline)}, {"maps", maps}};

  std::string html = absl::StrCat(
      "<!DOCTYPE html>\n<html lang=\"en\"><head><meta charset=\"utf-8\">\n"
      "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n"
      "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; style-src 'unsafe-inline'; script-src 'unsafe-inline'\">\n"
      "<title>", Escaped(document.title), "</title>\n<style>", kUplotCss, kReportCss, "</style></head>\n<body><main>\n<header>"
      "<p class=\"eyebrow\">heaptape report</p><h1>", Escaped(document.title), "</h1>\n<div class=\"verdict\"><h2>",
      Escaped(document.verdict), "</h2><p>", Escaped(document.paragraph), "</p>");
  if (!document.advice.empty()) absl::StrAppend(&html, "<p>", Escaped(document.advice), "</p>");
  if (!document.environment.empty()) absl::StrAppend(&html, "<pre>", Escaped(document.environment), "</pre>");
  absl::StrAppend(&html, "</div>\n<ul class=\"tiles\">");
  for (const Headline& headline : document.headlines) {
    absl::StrAppend(&html, "<li><b>", Escaped(headline.value), " <small>", Escaped(headline.unit), "</small></b><span>",
                    Escaped(headline.label), "</span></li>");
  }
  absl::StrAppend(&html, "</ul></header>\n<section><h2>Over time</h2><div class=\"panel\"><div id=\"timeline\"></div>"
                  "<p class=\"hint\" id=\"readout\"></p><p class=\"hint\">Drag to zoom. "
                  "<button id=\"whole\" type=\"button\">Whole trace</button></p></div></section>\n"
                  "<section><h2>Map of the heap</h2><ul class=\"key\"><li><i style=\"background:var(--live)\"></i>live</li>"
                  "<li><i style=\"background:var(--free)\"></i>free</li><li><i style=\"background:var(--other)\"></i>"
                  "the allocator's own</li></ul>\n");
  AddMap("At the end", report.end, 0, &html);
  if (report.peak.has_value()) AddMap("At the peak", *report.peak, 1, &html);
  absl::StrAppend(&html, "</section>\n");
  for (const DocumentSection& section : document.sections) AddSection(section, &html);
  // In a script only "</" and "<!--" could end the data early.
  const std::string json =
      absl::StrReplaceAll(data.dump(-1, ' ', false, ordered_json::error_handler_t::replace), {{"<", "\\u003c"}});
  absl::StrAppend(&html, "<footer>Made by heaptape. Nothing on this page is loaded from anywhere. The timeline is drawn by uPlot "
                  "(MIT licence).</footer>\n</main><div id=\"tip\"></div>\n<script type=\"application/json\" id=\"data\">", json,
                  "</script>\n<script>", kUplotScript, "</script>\n<script>", kReportScript, "</script>\n</body></html>\n");
  return html;
}

}  // namespace heaptape
