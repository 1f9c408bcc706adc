#include "analysis/holes_text.h"

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "analysis/text_table.h"

namespace heaptape {
namespace {

std::string Percent(uint64_t part, uint64_t whole) {
  return absl::StrFormat("%.1f", whole == 0 ? 0.0 : 100.0 * static_cast<double>(part) / static_cast<double>(whole));
}

std::string HistogramText(const HolesReport& report) {
  TextTable table("rrrrr");
  table.Add({"from", "to", "count", "bytes", "%"});
  for (const HoleClass& hole_class : report.histogram) {
    table.Add({Grouped(hole_class.min_bytes), Grouped(hole_class.max_bytes), Grouped(hole_class.count),
               Grouped(hole_class.bytes), Percent(hole_class.bytes, report.hole_bytes)});
  }
  table.Add({"", "=", Grouped(report.hole_count), Grouped(report.hole_bytes), "100.0"});
  return "\nholes by size, bytes\n" + table.Render();
}

std::string LargestText(const HolesReport& report) {
  TextTable table("rrlrll");
  table.Add({"bytes", "trimmable", "region", "offset", "behind", "pinned by"});
  uint64_t bytes = 0;
  uint64_t trimmable = 0;
  for (const HoleDetail& hole : report.largest) {
    bytes += hole.bytes;
    trimmable += hole.trimmable_bytes;
    table.Add({Grouped(hole.bytes), Grouped(hole.trimmable_bytes), RegionName(hole.origin), Grouped(hole.offset),
               NeighbourText(hole.before, "start of region"), NeighbourText(hole.pinned_by, "nothing: end of region")});
  }
  const uint64_t others = report.hole_count - report.largest.size();
  if (others > 0) {
    table.Add({Grouped(report.hole_bytes - bytes), Grouped(report.trimmable_bytes - trimmable),
               absl::StrCat("[", Counted(others, "other"), "]")});
  }
  table.Add({absl::StrCat("= ", Grouped(report.hole_bytes)), Grouped(report.trimmable_bytes)});
  return "\nlargest holes; blocks by event, thread, call\n" + table.Render();
}

}  // namespace

std::string NeighbourText(const Neighbour& neighbour, const char* none) {
  switch (neighbour.kind) {
    case Neighbour::Kind::kRegionEnd: return none;
    case Neighbour::Kind::kAllocator: return "the allocator's own";
    case Neighbour::Kind::kBlock: break;
  }
  const HeapBlock& block = neighbour.block;
  return absl::StrCat(block.event, " t", block.thread, " ", EventName(block.kind), "(", block.requested_bytes, ")");
}

std::string RegionName(uint32_t origin) { return origin == 0 ? "brk" : absl::StrCat("mmap ", origin); }

std::string HeapTotalsText(const HolesReport& report) {
  TextTable table("rrrl");
  const auto add = [&](const char* prefix, uint64_t bytes, const std::string& what) {
    table.Add({absl::StrCat(prefix, Grouped(bytes)), Megabytes(bytes), Percent(bytes, report.system_bytes), what});
  };
  table.Add({"bytes", "MB", "%", ""});
  add("", report.usable_bytes,
      absl::StrCat("usable by ", Counted(report.live_blocks, "live block"), "; ", Grouped(report.requested_bytes),
                   " were asked for"));
  add("", report.overhead_bytes, "overhead: headers, gaps too small for a block");
  add("", report.hole_bytes, absl::StrCat("in ", Counted(report.hole_count, "hole")));
  add("= ", report.system_bytes, "system");
  return table.Render();
}

std::string HolesText(const HolesReport& report) {
  std::string text = absl::StrCat("heap after event ", Grouped(report.at_event), "\n", HeapTotalsText(report));
  if (report.hole_count > 0) {
    TextTable table("rrrl");
    const auto add = [&](const char* prefix, uint64_t bytes, const char* what) {
      table.Add({absl::StrCat(prefix, Grouped(bytes)), Megabytes(bytes), Percent(bytes, report.hole_bytes), what});
    };
    table.Add({"bytes", "MB", "%", ""});
    add("", report.hole_bytes - report.top_bytes, "pinned: a live block or one of the allocator's own lies behind");
    add("", report.top_bytes, "not pinned: at the end of a region, kept by a threshold, a pad, or freed blocks in caches");
    add("= ", report.hole_bytes, "holes");
    add("", report.trimmable_bytes, "of these trimmable: whole pages, which the kernel could have back");
    text += "\nof the holes\n" + table.Render();
    text += HistogramText(report);
    if (!report.largest.empty()) text += LargestText(report);
  }
  if (!report.digest.empty()) absl::StrAppend(&text, "\ndigest ", report.digest, "\n");
  return text;
}

}  // namespace heaptape
