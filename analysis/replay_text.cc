#include "analysis/replay_text.h"

#include <algorithm>
#include <cmath>
#include <iterator>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "analysis/holes_text.h"
#include "analysis/replay_heap.h"
#include "analysis/text_table.h"
#include "analysis/trace_summary_text.h"
#include "replayer/driver/tunables.h"

namespace heaptape {
namespace {

void AddHealth(const ReplayResult& result, TextTable* table) {
  const TraceHealth& health = result.health;
  const bool read_to_end = health.complete || !health.problems.empty();
  if (read_to_end) table->Add({"health", HealthText(health)});
  for (const std::string& problem : health.problems) table->Add({"", Printable(problem)});
  const PlanTotals& plan = result.plan;
  const auto count = [table](uint64_t number, const char* what) {
    if (number > 0) table->Add({"", absl::StrCat(Grouped(number), what)});
  };
  count(plan.orphan_frees, " frees or reallocs of blocks that the trace did not show allocated");
  count(plan.contradictions, " allocations at addresses that were live");
  count(result.failed_calls, " allocations failed here that had not failed in the recording");
}

void AddSettings(const ReplayResult& result, TextTable* table) {
  const SettingsInForce& settings = result.settings;
  table->Add({"allocator", absl::StrCat(Printable(settings.allocator),
                                        settings.is_glibc ? absl::StrCat(" ", Printable(settings.glibc_version))
                                                          : absl::StrCat(", ", Printable(settings.allocator_path)))});
  const char* label = "settings";
  const auto setting = [&](const std::string& text) {
    table->Add({label, text});
    label = "";
  };
  for (const auto& [name, value] : settings.tunables) setting(Printable(absl::StrCat(name, "=", value)));
  if (settings.arena_limit > 0) {
    setting(absl::StrCat("arenas limited to ", settings.arena_limit, ", as on the recorded machine"));
  }
  setting(settings.touch == Touch::kPages ? "one byte of each page of a block is written to"
                                          : "blocks are not written to: resident bytes are less than the program's");
  if (!settings.aslr_disabled) setting("addresses are randomised here: only distances are comparable");
  label = "note";
  if (settings.is_glibc && FreezesMmapThreshold(settings.tunables)) {
    setting("setting mmap_threshold, trim_threshold, top_pad or mmap_max, whatever the value, also stops");
    setting("glibc from raising its mmap threshold when mmapped blocks are freed");
  }
  if (!settings.is_glibc) {
    setting("this allocator's own tables count as holes where they lie among its blocks; glibc's settings and");
    setting("malloc_trim do not reach it");
  }
  for (const std::string& note : settings.notes) {
    label = "note";
    setting(Printable(note));
  }
}

// Rounded down: 100 % is all of them.
void AddPlacement(const PlacementCounts& placement, TextTable* table) {
  const double share = placement.compared == 0 ? 1 : static_cast<double>(placement.equal) / placement.compared;
  table->Add({"placement", absl::StrFormat("%.2f %% of %s allocations lie where they were recorded",
                                           std::floor(share * 10000) / 100, Grouped(placement.compared))});
  if (placement.first_event == 0) return;
  const int64_t off = static_cast<int64_t>(placement.first_recorded - placement.first_replayed);
  table->Add({"", absl::StrFormat("the first that does not is that of event %s, recorded %s bytes %s",
                                  Grouped(placement.first_event), Grouped(off < 0 ? -off : off),
                                  off < 0 ? "lower" : "higher")});
}

std::string PeaksText(const ReplayResult& result) {
  TextTable table("lrrrrr");
  table.Add({"", "peak bytes", "MB", "at event", "end bytes", "MB"});
  for (std::vector<std::string>& row : PeakRows(result)) table.Add(std::move(row));
  std::string text = table.Render();
  if (result.unsettled.has_value()) {
    absl::StrAppend(&text, "  before settling: system ", Grouped(result.unsettled->system_bytes), ", resident ",
                    Grouped(result.unsettled->resident_bytes), " bytes\n");
  }
  return text;
}

std::string CostText(const ReplayResult& result) {
  TextTable table("rl");
  for (std::vector<std::string>& row : CostRows(result)) table.Add(std::move(row));
  return table.Render();
}

}  // namespace

std::vector<std::string> PeakRow(const std::string& what, const Peak& peak, uint64_t end_bytes) {
  return {what, Grouped(peak.bytes), Megabytes(peak.bytes), Grouped(peak.event), Grouped(end_bytes), Megabytes(end_bytes)};
}

std::vector<std::vector<std::string>> PeakRows(const ReplayResult& result) {
  return {PeakRow("requested", result.peak_requested, result.requested_bytes),
          PeakRow("usable", result.peak_usable, result.usable_bytes),
          result.settings.syscalls_seen
              ? PeakRow("system", result.peak_system, result.system_bytes)
              : std::vector<std::string>{"system", "not seen", "", "", Grouped(result.system_bytes),
                                         Megabytes(result.system_bytes)},
          PeakRow("resident", result.peak_resident, result.resident_bytes)};
}

std::vector<std::vector<std::string>> CostRows(const ReplayResult& result) {
  std::vector<std::vector<std::string>> rows;
  const auto row = [&rows](std::string figure, const char* what) { rows.push_back({std::move(figure), what}); };
  if (result.settings.syscalls_seen) {
    const SyscallCounts& calls = result.syscalls;
    row(Grouped(calls.brk), "brk");
    row(Grouped(calls.mmap), "mmap");
    row(Grouped(calls.munmap), "munmap");
    row(Grouped(calls.mremap), "mremap");
    row(Grouped(calls.mprotect), "mprotect");
    row(Grouped(calls.madvise), "madvise");
    row(absl::StrCat("= ", Grouped(Total(calls))), "system calls for memory");
    row(Grouped(result.peak_mappings), "mappings at most");
  }
  row(Grouped(result.minor_faults), "minor faults");
  row(absl::StrFormat("%.3f", result.allocator_seconds), "seconds in the allocator");
  row(absl::StrFormat("%.3f", result.replay_seconds), "seconds in all");
  return rows;
}

std::string ReplayHeadText(const std::string& trace, const ReplayResult& result, bool checked) {
  TextTable table("ll");
  std::string what = Printable(trace);
  if (!result.header.program().empty()) absl::StrAppend(&what, " (", Printable(result.header.program()), ")");
  table.Add({"trace", absl::StrCat(what, ": ", Counted(result.events_done, "event"), ", ",
                                   Counted(result.plan.threads, "thread"), result.stopped ? "; stopped early" : "")});
  AddHealth(result, &table);
  AddSettings(result, &table);
  table.Add({"digest", DigestText(result.digest)});
  if (result.placement.has_value()) AddPlacement(*result.placement, &table);
  if (checked) table.Add({"check", "a second replay agrees in every address and figure"});
  return table.Render(0);
}

std::string ReplayText(const std::string& trace, const ReplayResult& result, const HolesReport& holes, bool checked) {
  std::string text = ReplayHeadText(trace, result, checked);
  absl::StrAppend(&text, "\nbytes of memory\n", PeaksText(result));
  absl::StrAppend(&text, "\nsystem bytes after event ", Grouped(holes.at_event), "\n", HeapTotalsText(holes));
  if (holes.hole_count > 0) {
    absl::StrAppend(&text, "  largest hole ", Grouped(holes.largest_hole_bytes), " bytes; trimmable ",
                    Grouped(holes.trimmable_bytes), " bytes (`heaptape holes` tells more)\n");
  }
  absl::StrAppend(&text, "\ncost\n", CostText(result));
  return text;
}

}  // namespace heaptape
