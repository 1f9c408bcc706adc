#include "analysis/report_document.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "analysis/growth_text.h"
#include "analysis/holes_text.h"
#include "analysis/lifetimes_text.h"
#include "analysis/replay_text.h"
#include "analysis/text_table.h"
#include "analysis/trace_summary_text.h"

namespace heaptape {
namespace {

std::string Percent(uint64_t part, uint64_t whole) {
  return absl::StrFormat("%.1f", whole == 0 ? 0.0 : 100.0 * static_cast<double>(part) / static_cast<double>(whole));
}

// A table whose columns are bytes, MB, % and what, and whose last row is their sum.
class ByteTable {
 public:
  ByteTable(std::string caption, uint64_t whole) : whole_(whole) {
    table_.caption = std::move(caption);
    table_.headings = {"", "bytes", "MB", "%"};
    table_.alignment = "lrrr";
  }
  ByteTable& Add(const std::string& what, uint64_t bytes) {
    table_.rows.push_back({what, Grouped(bytes), Megabytes(bytes), Percent(bytes, whole_)});
    return *this;
  }
  DocumentTable Total(const std::string& what) {
    Add(what, whole_);
    table_.totals = 1;
    return std::move(table_);
  }

 private:
  const uint64_t whole_;
  DocumentTable table_;
};

}  // namespace

DocumentSection DescribeHeap(const HolesReport& holes) {
  DocumentSection section = {.id = "heap", .title = "What the heap is made of", .paragraphs = {}, .code = {}, .tables = {}};
  const uint64_t padding = std::min(holes.usable_bytes, holes.slop_bytes + holes.mapping_padding_bytes);
  section.tables.push_back(
      ByteTable(absl::StrCat("Every byte after event ", Grouped(holes.at_event)), holes.system_bytes)
          .Add(absl::StrCat("asked for, by ", Counted(holes.live_blocks, "live block")), holes.usable_bytes - padding)
          .Add("slop: what these could hold besides", padding - std::min(padding, holes.mapping_padding_bytes))
          .Add("padding of blocks with a mapping of their own", holes.mapping_padding_bytes)
          .Add("overhead: headers, small gaps", holes.overhead_bytes)
          .Add("holes between blocks", holes.between_bytes)
          .Add("hole at the top of the heap", holes.brk_top_bytes)
          .Add("holes at the ends of arenas", holes.tail_bytes)
          .Total("system"));
  ByteTable trim("What trimming reaches", holes.hole_bytes);
  trim.Add("trimmable: whole pages", holes.trimmable_bytes)
      .Add("in pages that a live block has a part of", holes.page_part_bytes)
      .Add(absl::StrCat("in ", Counted(holes.small_hole_count, "hole"), " without a whole page"), holes.small_hole_bytes);
  section.tables.push_back(trim.Total("holes"));
  if (holes.trim.has_value()) {
    section.paragraphs.push_back(
        absl::StrCat("malloc_trim(0), called at the end of another replay that had written to every page of every block, gave ",
                     Grouped(holes.trim->returned_bytes()), " resident bytes back (", Grouped(holes.trim->resident_bytes_before),
                     " to ", Grouped(holes.trim->resident_bytes_after), "); ", Grouped(holes.trimmable_bytes),
                     " were estimated from the map. Where the program trims by itself, little is left to give back."));
  }
  return section;
}

namespace {

DocumentTable PeaksTable(const ReplayResult& result) {
  return {.caption = "Peaks, each its own",
          .headings = {"", "peak bytes", "MB", "at event", "end bytes", "MB"},
          .alignment = "lrrrrr",
          .rows = PeakRows(result),
          .totals = 0};
}

// Beside what the recorder saw.
DocumentTable PeaksTable(const FullReport& report) {
  DocumentTable peaks = PeaksTable(report.result);
  if (!report.timeline.recorded.empty()) {
    Peak recorded;
    for (const RecordedMemory& memory : report.timeline.recorded) {
      if (memory.resident_bytes > recorded.bytes) recorded = {memory.resident_bytes, memory.event};
    }
    peaks.rows.push_back(PeakRow("resident, recorded: the whole process", recorded,
                                 report.timeline.recorded.back().resident_bytes));
  }
  return peaks;
}

DocumentSection ProbesSection(const FullReport& report) {
  DocumentSection section = {.id = "probes", .title = "What tells the causes apart", .paragraphs = {}, .code = {}, .tables = {}};
  DocumentTable table = {.caption = "The same calls with one setting changed",
                         .headings = {"setting", "what for", "system bytes", "MB", "peak MB", "mappings", "system calls"},
                         .alignment = "llrrrrr", .rows = {}, .totals = 0};
  const ReplayResult& result = report.result;
  const SyscallCounts& calls = result.syscalls;
  table.rows.push_back({"as replayed", "", Grouped(result.system_bytes), Megabytes(result.system_bytes),
                        Megabytes(result.peak_system.bytes), Grouped(result.peak_mappings),
                        Grouped(Total(calls))});
  for (const VerdictProbe& probe : report.verdict.probes) {
    table.rows.push_back({probe.setting, probe.purpose, Grouped(probe.system_bytes), Megabytes(probe.system_bytes),
                          Megabytes(probe.peak_system_bytes), Grouped(probe.peak_mappings), Grouped(probe.system_calls)});
  }
  section.tables.push_back(std::move(table));
  return section;
}

}  // namespace

DocumentSection DescribeReplay(const ReplayResult& result) {
  DocumentTable cost = {.caption = "Cost", .headings = {"", ""}, .alignment = "rl", .rows = CostRows(result), .totals = 0};
  return {.id = "replay", .title = "How far it went", .paragraphs = {}, .code = {}, .tables = {PeaksTable(result), std::move(cost)}};
}

DocumentSection DescribeHoles(const HolesReport& holes) {
  DocumentSection section = {.id = "holes", .title = "Holes", .paragraphs = {}, .code = {}, .tables = {}};
  DocumentTable histogram = {.caption = "By size", .headings = {"from bytes", "to", "count", "bytes", "%"},
                             .alignment = "rrrrr", .rows = {}, .totals = 1};
  for (const HoleClass& hole_class : holes.histogram) {
    histogram.rows.push_back({Grouped(hole_class.min_bytes), Grouped(hole_class.max_bytes), Grouped(hole_class.count),
                              Grouped(hole_class.bytes), Percent(hole_class.bytes, holes.hole_bytes)});
  }
  histogram.rows.push_back({"", "total", Grouped(holes.hole_count), Grouped(holes.hole_bytes), "100.0"});
  section.tables.push_back(std::move(histogram));

  DocumentTable largest = {.caption = "The largest; blocks by event, thread, call",
                           .headings = {"bytes", "trimmable", "region", "offset", "behind", "pinned by"},
                           .alignment = "rrlrll", .rows = {}, .totals = 1};
  uint64_t bytes = 0;
  uint64_t trimmable = 0;
  for (const HoleDetail& hole : holes.largest) {
    bytes += hole.bytes;
    trimmable += hole.trimmable_bytes;
    largest.rows.push_back({Grouped(hole.bytes), Grouped(hole.trimmable_bytes), RegionName(hole.origin), Grouped(hole.offset),
                            NeighbourText(hole.before, "start of region"),
                            NeighbourText(hole.pinned_by, "nothing: end of region")});
  }
  if (holes.hole_count > holes.largest.size()) {
    largest.rows.push_back({Grouped(holes.hole_bytes - bytes), Grouped(holes.trimmable_bytes - trimmable),
                            absl::StrCat("[", Counted(holes.hole_count - holes.largest.size(), "other"), "]"), "", "", ""});
  }
  largest.rows.push_back({Grouped(holes.hole_bytes), Grouped(holes.trimmable_bytes), "total", "", "", ""});
  section.tables.push_back(std::move(largest));

  DocumentTable pins = {.caption = "Who pins the most", .headings = {"held bytes", "block bytes", "event", "age, events", "thread", "call"},
                        .alignment = "rrrrll", .rows = {}, .totals = 1};
  uint64_t held = 0;
  uint64_t all = 0;
  for (const PinGroup& group : holes.pin_groups) all += group.held_bytes;
  for (const Pin& pin : holes.pins) {
    held += pin.held_bytes;
    pins.rows.push_back({Grouped(pin.held_bytes), Grouped(pin.block.requested_bytes), Grouped(pin.block.event),
                         Grouped(holes.at_event - std::min(pin.block.event, holes.at_event)),
                         absl::StrCat("t", pin.block.thread), EventName(pin.block.kind)});
  }
  if (holes.pin_count > holes.pins.size()) {
    pins.rows.push_back({Grouped(all - held), absl::StrCat("[", Counted(holes.pin_count - holes.pins.size(), "other"), "]"), "", "", "", ""});
  }
  pins.rows.push_back({Grouped(all), "total", "", "", "", ""});
  section.tables.push_back(std::move(pins));
  return section;
}

namespace {

DocumentSection GrowthSection(const GrowthReport& growth) {
  DocumentSection section = {.id = "growth", .title = "Why it grew", .paragraphs = {}, .code = {}, .tables = {}};
  DocumentTable steps = {.caption = "Steps up of system bytes, the largest",
                         .headings = {"bytes", "system after", "event", "thread", "call", "steps", "what grew"},
                         .alignment = "rrrllrl", .rows = {}, .totals = 3};
  uint64_t bytes = 0;
  uint64_t count = 0;
  for (const GrowthCall& each : growth.largest) {
    bytes += each.step.bytes;
    count += each.step.steps;
    steps.rows.push_back({Grouped(each.step.bytes), Grouped(each.step.system_bytes), Grouped(each.step.event),
                          absl::StrCat("t", each.call.thread), CallText(each.call), Grouped(each.step.steps), GrewText(each.step)});
  }
  if (growth.step_count > count) {
    steps.rows.push_back({Grouped(growth.up_bytes - bytes), "", "", "", "", Grouped(growth.step_count - count),
                          absl::StrCat("[", Counted(growth.step_count - count, "other"), "]")});
  }
  steps.rows.push_back({Grouped(growth.up_bytes), "", "", "", "", Grouped(growth.step_count), "up"});
  steps.rows.push_back({absl::StrCat("-", Grouped(growth.down_bytes)), "", "", "", "", "", "given back to the kernel"});
  steps.rows.push_back({Grouped(growth.system_bytes), "", "", "", "", "", "system at the end"});
  section.tables.push_back(std::move(steps));
  for (const GrowthReason& reason : growth.reasons) {
    if (!reason.story.has_value()) continue;
    section.paragraphs.push_back(absl::StrCat("Event ", Grouped(reason.growth.step.event), ", ", CallText(reason.growth.call), " by t",
                                              reason.growth.call.thread, ": ", absl::StrJoin(ReasonLines(reason), "; "), ". ",
                                              StorySummary(reason)));
    DocumentTable story = {.caption = absl::StrCat("Calls that led to event ", Grouped(reason.growth.step.event)),
                           .headings = {"event", "before it", "thread", "call", "bytes", "were", ""},
                           .alignment = "rrllrrl", .rows = {}, .totals = 0};
    for (const StoryCall& call : reason.story->calls) {
      story.rows.push_back({Grouped(call.event), Grouped(reason.growth.step.event - call.event), absl::StrCat("t", call.thread),
                            EventName(call.call), call.bytes == 0 ? "" : Grouped(call.bytes),
                            call.old_bytes == 0 ? "" : Grouped(call.old_bytes), StoryLine(call, *reason.story)});
    }
    section.tables.push_back(std::move(story));
  }
  return section;
}

DocumentSection LifetimesSection(const LifetimeReport& lifetimes) {
  DocumentSection section = {.id = "lifetimes", .title = "How long blocks live", .paragraphs = {}, .code = {}, .tables = {}};
  DocumentTable table = {.caption = absl::StrCat("By size asked for; ages in events; the peak is after event ", Grouped(lifetimes.peak_event)),
                         .headings = {"from bytes", "to", "blocks", "bytes", "median age", "99 % age", "outlive peak, %", "live at end",
                                      "requested", "usable"},
                         .alignment = "rrrrrrrrrr", .rows = {}, .totals = 1};
  for (const LifetimeClass& each : lifetimes.classes) table.rows.push_back(LifetimeCells(each));
  std::vector<std::string> all = LifetimeCells(lifetimes.all);
  all[0] = "";
  all[1] = "total";
  table.rows.push_back(std::move(all));
  section.tables.push_back(std::move(table));
  return section;
}

DocumentSection IdentitySection(const FullReport& report) {
  const ReplayResult& result = report.result;
  const Header& header = result.header;
  DocumentSection section = {.id = "identity", .title = "What was replayed, and how to do it again", .paragraphs = {}, .code = {}, .tables = {}};
  section.code = {report.command};
  DocumentTable table = {.caption = "", .headings = {"", ""}, .alignment = "ll", .rows = {}, .totals = 0};
  const auto row = [&table](const char* what, const std::string& value) {
    if (!value.empty()) table.rows.push_back({what, value});
  };
  row("trace", report.trace);
  row("program", header.program());
  row("events", absl::StrCat(Grouped(result.events_done), ", by ", Counted(result.plan.threads, "thread")));
  row("health", HealthText(result.health));
  row("recorded by", header.recorder());
  row("recorded on", absl::StrCat(header.cpus(), " processors, glibc ", header.glibc_version().empty() ? "not known" : header.glibc_version(),
                                  header.thp_mode().empty() ? "" : absl::StrCat(", transparent huge pages ", header.thp_mode())));
  row("allocator recorded", header.allocator());
  row("allocator", result.settings.is_glibc ? absl::StrCat("glibc ", result.settings.glibc_version) : result.settings.allocator_path);
  for (const auto& [name, value] : result.settings.tunables) row("setting", absl::StrCat(name, "=", value));
  if (result.settings.tunables.empty()) row("settings", "none");
  if (result.settings.arena_limit > 0) {
    row("arenas", absl::StrCat("limited to ", result.settings.arena_limit, ", as on the recorded machine"));
  }
  row("blocks", result.settings.touch == Touch::kPages ? "one byte of each page written to" : "not written to");
  for (const std::string& note : result.settings.notes) row("note", note);
  row("digest", DigestText(result.digest));
  section.tables.push_back(std::move(table));
  return section;
}

}  // namespace

ReportDocument DescribeReport(const FullReport& report) {
  ReportDocument document;
  const std::string& program = report.result.header.program();
  document.title = absl::StrCat("Heap of ", program.empty() ? report.trace : program);
  document.verdict = MechanismName(report.verdict.mechanism);
  document.paragraph = report.verdict.paragraph;
  document.advice = report.verdict.advice;
  document.environment = report.verdict.environment;
  const HolesReport& holes = report.holes;
  document.headlines = {{Megabytes(holes.system_bytes), "MB", "held from the kernel"},
                        {Megabytes(holes.requested_bytes), "MB", "live: asked for"},
                        {Megabytes(holes.hole_bytes), "MB", absl::StrCat("free, in ", Counted(holes.hole_count, "hole"))},
                        {Megabytes(holes.trimmable_bytes), "MB", "trimmable"},
                        {Megabytes(report.result.peak_system.bytes), "MB", "held at the peak"},
                        {Grouped(holes.at_event), "", "events"}};
  document.sections.push_back(DescribeHeap(holes));
  document.sections.back().tables.push_back(PeaksTable(report));
  if (!report.verdict.probes.empty()) document.sections.push_back(ProbesSection(report));
  if (holes.hole_count > 0) document.sections.push_back(DescribeHoles(holes));
  if (report.growth.has_value()) document.sections.push_back(GrowthSection(*report.growth));
  document.sections.push_back(LifetimesSection(report.lifetimes));
  document.sections.push_back(IdentitySection(report));
  return document;
}

}  // namespace heaptape
