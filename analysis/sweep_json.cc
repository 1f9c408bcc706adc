#include "analysis/sweep_json.h"

#include <cstdint>
#include <string>
#include <type_traits>
#include <utility>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"
#include "analysis/replay_heap.h"
#include "analysis/replay_json.h"

namespace heaptape {
namespace {

using nlohmann::ordered_json;
using Pointer = ordered_json::json_pointer;

// Every figure of a row and where it stands; of a row that is written, or read.
template <typename Row, typename Visit>
void VisitFigures(Row& row, const Visit& visit) {
  visit("/peak/requested_bytes", row.peak.requested);
  visit("/peak/usable_bytes", row.peak.usable);
  visit("/peak/system_bytes", row.peak.system);
  visit("/peak/resident_bytes", row.peak.resident);
  visit("/peak/system_event", row.peak_event);
  visit("/end/requested_bytes", row.end.requested);
  visit("/end/usable_bytes", row.end.usable);
  visit("/end/system_bytes", row.end.system);
  visit("/end/resident_bytes", row.end.resident);
  visit("/end/trimmable_bytes", row.trimmable_bytes);
  visit("/before_settling/system_bytes", row.unsettled_system_bytes);
  visit("/before_settling/resident_bytes", row.unsettled_resident_bytes);
  visit("/syscalls/brk", row.syscalls.brk);
  visit("/syscalls/mmap", row.syscalls.mmap);
  visit("/syscalls/munmap", row.syscalls.munmap);
  visit("/syscalls/mremap", row.syscalls.mremap);
  visit("/syscalls/mprotect", row.syscalls.mprotect);
  visit("/syscalls/madvise", row.syscalls.madvise);
  visit("/minor_faults", row.minor_faults);
  visit("/peak_mappings", row.peak_mappings);
  visit("/replay_seconds", row.replay_seconds);
  visit("/allocator_seconds", row.allocator_seconds);
}

// What each figure is more than that of the recorded settings.
ordered_json ChangesJson(const SweepRow& row, const SweepRow& recorded) {
  ordered_json before, changes;
  VisitFigures(recorded, [&before](const char* where, const auto& figure) { before[where] = figure; });
  VisitFigures(row, [&](const char* where, const auto& figure) {
    const std::string path = where;
    if (path == "/peak/system_event" || path.rfind("/before_settling", 0) == 0) return;
    if constexpr (std::is_floating_point_v<std::decay_t<decltype(figure)>>) {
      changes[Pointer(where)] = figure - before[where].get<double>();
    } else {
      changes[Pointer(where)] = static_cast<int64_t>(figure - before[where].get<uint64_t>());
    }
  });
  return changes;
}

ordered_json LinesJson(const SettingLines& way) {
  return {{"id", way.id}, {"where", way.where}, {"lines", way.lines}, {"reach", way.reach}};
}

ordered_json RecommendedJson(const SweepReport& report) {
  const Recommendation& advice = report.recommendation;
  if (!advice.row.has_value()) return nullptr;
  ordered_json json = SweepRowJson(report.sweep.rows[*advice.row]);
  json["changes"] = ChangesJson(report.sweep.rows[*advice.row], report.sweep.rows.front());
  json["freeze"] = advice.freeze;
  json["price"] = advice.price;
  json["warnings"] = advice.warnings;
  // The first way is the environment's: "export NAME=VALUE".
  json["environment"] = absl::StripPrefix(report.lines.front().lines.front(), "export ");
  json["lines"] = ordered_json::array();
  for (const SettingLines& way : report.lines) json["lines"].push_back(LinesJson(way));
  return json;
}

}  // namespace

ordered_json SweepRowJson(const SweepRow& row) {
  ordered_json json = {
      {"name", PointName(row.point)},
      {"settings",
       {{"allocator", row.point.allocator}, {"tunables", TunablesJson(row.point.tunables)}, {"trim_at_end", row.point.trim_at_end}}},
      {"failure", row.ok() ? ordered_json() : ordered_json(row.failure)},
      {"digest", row.ok() ? ordered_json(DigestText(row.digest)) : ordered_json()},
  };
  if (row.ok()) {
    VisitFigures(row, [&json](const char* where, const auto& figure) { json[Pointer(where)] = figure; });
  }
  return json;
}

absl::StatusOr<SweepRow> ParseSweepRow(const ordered_json& json) try {
  SweepRow row;
  const ordered_json& settings = json.at("settings");
  settings.at("allocator").get_to(row.point.allocator);
  for (const auto& [name, value] : settings.at("tunables").items()) {
    row.point.tunables[name] = value.is_string() ? value.get<std::string>() : value.dump();
  }
  settings.at("trim_at_end").get_to(row.point.trim_at_end);
  if (!json.at("failure").is_null()) {
    json.at("failure").get_to(row.failure);
  } else {
    if (!absl::SimpleHexAtoi(json.at("digest").get<std::string>(), &row.digest)) return absl::InvalidArgumentError("no digest");
    VisitFigures(row, [&json](const char* where, auto& figure) { json.at(Pointer(where)).get_to(figure); });
  }
  return row;
} catch (const ordered_json::exception& error) {
  return absl::InvalidArgumentError(absl::StrCat("not a row of a sweep: ", error.what()));
}

ordered_json SweepJson(const SweepReport& report) {
  const Sweep& sweep = report.sweep;
  const Recommendation& advice = report.recommendation;
  ordered_json rows = ordered_json::array();
  for (size_t i : report.ranked) {
    ordered_json row = SweepRowJson(sweep.rows[i]);
    if (sweep.rows[i].ok()) {
      row["changes"] = ChangesJson(sweep.rows[i], sweep.rows.front());
      row["held_bytes"] = HeldBytes(sweep, sweep.rows[i]);
    }
    row["remarks"] = RemarksOn(sweep, sweep.rows[i]);
    rows.push_back(std::move(row));
  }
  ordered_json alternatives = ordered_json::array();
  for (const Alternative& other : advice.alternatives) {
    alternatives.push_back({{"lever", other.lever},
                            {"best", PointName(sweep.rows[other.row].point)},
                            {"gained_bytes", other.gained_bytes},
                            {"why", other.why}});
  }
  return {
      {"trace", report.trace},
      {"events", sweep.recorded.events_done},
      {"touch", IsTouched(sweep) ? "pages" : "none"},
      {"stopped", sweep.stopped},
      {"rows", rows},
      {"recommended", RecommendedJson(report)},
      {"reason", advice.reason},
      {"mechanism", MechanismName(advice.verdict.mechanism)},
      {"alternatives", alternatives},
  };
}

}  // namespace heaptape
