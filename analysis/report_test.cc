// The renderings of a report: whole, straight, and safe with any text in it.

#include <string>

#include "analysis/full_report.h"
#include "analysis/report_document.h"
#include "analysis/report_html.h"
#include "analysis/report_markdown.h"
#include "gtest/gtest.h"

namespace heaptape {
namespace {

// What a program may be called by someone who wishes us ill.
constexpr char kName[] = "a|b</script><script>alert(1)</script>`x`\n# y";

FullReport Example() {
  FullReport report;
  report.trace = kName;
  report.command = std::string("heaptape report ") + kName;
  report.result.header.set_program(kName);
  report.result.settings.notes = {kName};
  report.result.timeline = {{0, 0, 0, 0, 0}, {100, 50, 60, 100, 90}};
  report.timeline.points = report.result.timeline;
  report.verdict = Judge(VerdictFacts());
  report.holes.hole_count = 1;
  report.holes.hole_bytes = 40;
  report.holes.system_bytes = 100;
  report.end.heap.blocks = {{.address = 0x10010, .usable_bytes = 0xff0, .requested_bytes = 4000, .event = 1}};
  report.end.heap.regions = {{.lo = 0x10000, .hi = 0x14000, .writable = true}};
  report.end.heap.map = *MapHeap(report.end.heap.blocks, report.end.heap.regions, {}, kGlibcLayout);
  report.end.cells = DivideHeap(report.end.heap.map, report.end.heap.blocks, report.end.heap.regions, 4);
  report.growth.emplace();
  return report;
}

size_t Count(const std::string& text, const std::string& part) {
  size_t count = 0;
  for (size_t at = text.find(part); at != std::string::npos; at = text.find(part, at + 1)) ++count;
  return count;
}

TEST(ReportTest, HtmlHoldsNoForeignMarkup) {
  const FullReport report = Example();
  const std::string html = ReportHtml(report, DescribeReport(report));
  EXPECT_EQ(html.find("alert(1)</script>"), std::string::npos);
  // The data, uPlot, our own.
  EXPECT_EQ(Count(html, "<script"), 3u);
  EXPECT_EQ(Count(html, "</script>"), 3u);
  EXPECT_NE(html.find("default-src 'none'"), std::string::npos);
  EXPECT_NE(html.find("healthy"), std::string::npos);
  EXPECT_EQ(html, ReportHtml(report, DescribeReport(report)));
  EXPECT_LT(html.size(), 200'000u);
}

TEST(ReportTest, MarkdownHoldsNoForeignMarkup) {
  const std::string text = ReportMarkdown(DescribeReport(Example()));
  EXPECT_EQ(text.find("<script>"), text.find("<script>alert(1)</script>`x`\\n"));  // in code alone
  EXPECT_EQ(text.find("\n# y"), std::string::npos);
  EXPECT_EQ(MarkdownText("a|b*c<d>"), "a\\|b\\*c&lt;d>");
}

TEST(ReportTest, ALongReportIsCutToFitATicket) {
  ReportDocument document = DescribeReport(Example());
  DocumentTable table = {.caption = "long", .headings = {"a", "b"}, .alignment = "rl", .rows = {}, .totals = 1};
  for (int i = 0; i < 5000; ++i) table.rows.push_back({std::to_string(i), std::string(20, 'x')});
  table.rows.push_back({"sum", ""});
  document.sections[0].tables.push_back(table);
  const std::string text = ReportMarkdown(document);
  EXPECT_LE(text.size(), kMarkdownLimitBytes);
  EXPECT_NE(text.find("rows left out"), std::string::npos);
  EXPECT_NE(text.find("**sum**"), std::string::npos);
  EXPECT_LE(ReportMarkdown(document, 2000).size(), 2000u);
}

}  // namespace
}  // namespace heaptape
