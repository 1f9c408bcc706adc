#include "analysis/holes_text.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "analysis/text_table.h"

namespace heaptape {
namespace {

constexpr size_t kGroupsShown = 10;
constexpr size_t kArenasShown = 20;

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

// A column of bytes that adds up, with megabytes and the share of `whole`.
class ByteRows {
 public:
  explicit ByteRows(uint64_t whole) : whole_(whole), table_("rrrl") { table_.Add({"bytes", "MB", "%", ""}); }

  void Add(uint64_t bytes, const std::string& what) { Add("", bytes, what); }
  void Total(uint64_t bytes, const std::string& what) { Add("= ", bytes, what); }
  std::string Render() const { return table_.Render(); }

 private:
  void Add(const char* prefix, uint64_t bytes, const std::string& what) {
    table_.Add({absl::StrCat(prefix, Grouped(bytes)), Megabytes(bytes), Percent(bytes, whole_), what});
  }

  const uint64_t whole_;
  TextTable table_;
};

// Every byte of the system, by what it is for.
std::string LineByLineText(const HolesReport& report) {
  ByteRows rows(report.system_bytes);
  // Without blocks outside regions, of which no more is known, this is what was asked for.
  const uint64_t padding = report.slop_bytes + report.mapping_padding_bytes;
  const uint64_t requested = report.usable_bytes - std::min(report.usable_bytes, padding);
  rows.Add(requested, absl::StrCat("asked for by ", Counted(report.live_blocks, "live block")));
  rows.Add(std::min(report.usable_bytes, padding) - std::min(report.usable_bytes, report.mapping_padding_bytes),
           "slop: what these blocks could hold besides");
  rows.Add(report.mapping_padding_bytes, "padding: the same, of blocks with a mapping of their own");
  rows.Add(report.overhead_bytes, "overhead: headers, gaps too small for a block");
  rows.Add(report.between_bytes, "holes between blocks, pinned by the block behind");
  rows.Add(report.brk_top_bytes, "hole at the top of the heap, kept by a threshold, a pad, or freed blocks in caches");
  if (report.tail_bytes > 0) rows.Add(report.tail_bytes, "holes at the ends of arenas and other mappings");
  rows.Total(report.system_bytes, absl::StrCat("system; ", Grouped(report.hole_bytes), " in ",
                                               Counted(report.hole_count, "hole")));
  return rows.Render();
}

std::string TrimText(const HolesReport& report) {
  ByteRows rows(report.hole_bytes);
  rows.Add(report.trimmable_bytes, "trimmable: whole pages, which malloc_trim(0) could give back");
  rows.Add(report.page_part_bytes, "in pages that a live block has a part of, at the ends of these holes");
  rows.Add(report.small_hole_bytes, absl::StrCat("in ", Counted(report.small_hole_count, "hole"), " without a whole page"));
  rows.Total(report.hole_bytes, "holes");
  if (report.thread_cache_bytes.has_value()) {
    rows.Add(*report.thread_cache_bytes, "of these in thread caches: free for the program, in use for the heap");
  }
  if (report.trim.has_value()) {
    rows.Add(report.trim->returned_bytes(),
             absl::StrCat("given back by malloc_trim(0), replayed, every page of a block once written to: resident ",
                          Grouped(report.trim->resident_bytes_before), " -> ",
                          Grouped(report.trim->resident_bytes_after)));
  }
  return rows.Render();
}

std::string PinsText(const HolesReport& report) {
  TextTable table("rrrrrll");
  table.Add({"held bytes", "trimmable", "block bytes", "event", "age, events", "thread", "call"});
  uint64_t held = 0;
  uint64_t trimmable = 0;
  for (const Pin& pin : report.pins) {
    held += pin.held_bytes;
    trimmable += pin.trimmable_bytes;
    table.Add({Grouped(pin.held_bytes), Grouped(pin.trimmable_bytes), Grouped(pin.block.requested_bytes),
               Grouped(pin.block.event), Grouped(report.at_event - std::min(pin.block.event, report.at_event)),
               absl::StrCat("t", pin.block.thread), EventName(pin.block.kind)});
  }
  uint64_t all = 0;
  for (const PinGroup& group : report.pin_groups) all += group.held_bytes;
  const uint64_t others = report.pin_count - report.pins.size();
  if (others > 0) table.Add({Grouped(all - held), "", absl::StrCat("[", Counted(others, "other"), "]")});
  table.Add({absl::StrCat("= ", Grouped(all))});
  return "\nwho pins the most\n" + table.Render();
}

std::string PinGroupsText(const HolesReport& report) {
  TextTable table("rrrrrrl");
  table.Add({"held bytes", "%", "blocks", "of bytes", "to", "median age, events", "thread"});
  uint64_t held = 0;
  uint64_t count = 0;
  uint64_t all = 0;
  for (const PinGroup& group : report.pin_groups) all += group.held_bytes;
  const size_t shown = std::min<size_t>(report.pin_groups.size(), kGroupsShown);
  for (size_t i = 0; i < shown; ++i) {
    const PinGroup& group = report.pin_groups[i];
    held += group.held_bytes;
    count += group.count;
    table.Add({Grouped(group.held_bytes), Percent(group.held_bytes, all), Grouped(group.count),
               Grouped(group.min_bytes), Grouped(group.max_bytes),
               Grouped(report.at_event - std::min(group.median_event, report.at_event)),
               absl::StrCat("t", group.thread)});
  }
  if (shown < report.pin_groups.size()) {
    table.Add({Grouped(all - held), Percent(all - held, all), Grouped(report.pin_count - count),
               absl::StrCat("[", Counted(report.pin_groups.size() - shown, "other"), "]")});
  }
  table.Add({absl::StrCat("= ", Grouped(all)), "100.0", Grouped(report.pin_count)});
  return "\npinning blocks by thread and size\n" + table.Render();
}

std::string ArenasText(const HolesReport& report) {
  TextTable table("lrrrrrr");
  table.Add({"region", "system bytes", "live blocks", "usable", "holes", "hole bytes", "trimmable"});
  ArenaTotals others = {.regions = 0};
  ArenaTotals all;
  size_t shown = 0;
  const auto add = [](const ArenaTotals& arena, ArenaTotals* sum) {
    sum->regions += arena.regions;
    sum->system_bytes += arena.system_bytes;
    sum->live_blocks += arena.live_blocks;
    sum->usable_bytes += arena.usable_bytes;
    sum->hole_count += arena.hole_count;
    sum->hole_bytes += arena.hole_bytes;
    sum->trimmable_bytes += arena.trimmable_bytes;
  };
  const auto row = [&table](const std::string& name, const ArenaTotals& arena) {
    table.Add({name, Grouped(arena.system_bytes), Grouped(arena.live_blocks), Grouped(arena.usable_bytes),
               Grouped(arena.hole_count), Grouped(arena.hole_bytes), Grouped(arena.trimmable_bytes)});
  };
  size_t hidden = 0;
  for (const ArenaTotals& arena : report.arenas) {
    add(arena, &all);
    if (!arena.one_block && ++shown > kArenasShown) {
      add(arena, &others);
      ++hidden;
    }
  }
  shown = 0;
  for (const ArenaTotals& arena : report.arenas) {
    if (!arena.one_block && ++shown <= kArenasShown) row(RegionName(arena.origin), arena);
  }
  if (hidden > 0) row(absl::StrCat("[", Counted(hidden, "other"), "]"), others);
  if (report.arenas.back().one_block) {
    row(Counted(report.arenas.back().regions, "block's mapping"), report.arenas.back());
  }
  row("=", all);
  return "\nregions\n" + table.Render();
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
  std::string text = absl::StrCat("heap after event ", Grouped(report.at_event), "\n", LineByLineText(report));
  if (report.hole_count > 0) {
    absl::StrAppend(&text, "\nof the holes\n", TrimText(report), HistogramText(report));
    if (!report.largest.empty()) text += LargestText(report);
    if (!report.pins.empty()) text += PinsText(report) + PinGroupsText(report);
  }
  if (report.arenas.size() > 1) text += ArenasText(report);
  if (!report.digest.empty()) absl::StrAppend(&text, "\ndigest ", report.digest, "\n");
  return text;
}

}  // namespace heaptape
