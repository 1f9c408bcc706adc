#include "analysis/lifetimes_text.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "analysis/text_table.h"

namespace heaptape {
namespace {

using nlohmann::ordered_json;

ordered_json ClassJson(const LifetimeClass& lifetime) {
  return {{"min_bytes", lifetime.min_bytes},
          {"max_bytes", lifetime.max_bytes},
          {"count", lifetime.count},
          {"bytes", lifetime.bytes},
          {"median_age_events", lifetime.median_age},
          {"p99_age_events", lifetime.p99_age},
          {"peak_count", lifetime.peak_count},
          {"peak_bytes", lifetime.peak_bytes},
          {"outlive_peak_count", lifetime.outlive_count},
          {"outlive_peak_bytes", lifetime.outlive_bytes},
          {"live_count", lifetime.live_count},
          {"live_requested_bytes", lifetime.live_requested_bytes},
          {"live_usable_bytes", lifetime.live_usable_bytes}};
}

}  // namespace

std::vector<std::string> LifetimeCells(const LifetimeClass& lifetime) {
  return {Grouped(lifetime.min_bytes),
          Grouped(lifetime.max_bytes),
          Grouped(lifetime.count),
          Grouped(lifetime.bytes),
          Grouped(lifetime.median_age),
          Grouped(lifetime.p99_age),
          lifetime.peak_count == 0
              ? std::string("-")
              : absl::StrFormat("%.1f", 100.0 * static_cast<double>(lifetime.outlive_count) /
                                            static_cast<double>(lifetime.peak_count)),
          Grouped(lifetime.live_count),
          Grouped(lifetime.live_requested_bytes),
          Grouped(lifetime.live_usable_bytes)};
}

std::string LifetimesText(const LifetimeReport& report) {
  TextTable table("rrrrrrrrrr");
  table.Add({"from", "to", "blocks", "bytes", "median age", "99 % age", "outlive peak, %", "live", "requested", "usable"});
  for (const LifetimeClass& lifetime : report.classes) table.Add(LifetimeCells(lifetime));
  std::vector<std::string> cells = LifetimeCells(report.all);
  cells[0] = "";
  cells[1] = "=";
  table.Add(std::move(cells));
  return absl::StrCat("blocks by size asked for, bytes; ages in events; the peak is after event ", Grouped(report.peak_event),
                      "\n", table.Render());
}

ordered_json LifetimesJson(const LifetimeReport& report) {
  ordered_json classes = ordered_json::array();
  for (const LifetimeClass& lifetime : report.classes) classes.push_back(ClassJson(lifetime));
  return {{"at_event", report.at_event},
          {"peak_event", report.peak_event},
          {"classes", classes},
          {"all", ClassJson(report.all)}};
}

}  // namespace heaptape
