#include "analysis/sweep_json.h"

#include <string>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"

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
  visit("/digest", row.digest);
  visit("/replay_seconds", row.replay_seconds);
  visit("/allocator_seconds", row.allocator_seconds);
}

}  // namespace

ordered_json SweepRowJson(const SweepRow& row) {
  ordered_json tunables = ordered_json::object();
  for (const auto& [name, value] : row.point.tunables) tunables[name] = value;
  ordered_json json = {
      {"name", PointName(row.point)},
      {"settings",
       {{"allocator", row.point.allocator}, {"tunables", tunables}, {"trim_at_end", row.point.trim_at_end}}},
      {"failure", row.ok() ? ordered_json() : ordered_json(row.failure)},
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
  settings.at("tunables").get_to(row.point.tunables);
  settings.at("trim_at_end").get_to(row.point.trim_at_end);
  if (!json.at("failure").is_null()) {
    json.at("failure").get_to(row.failure);
  } else {
    VisitFigures(row, [&json](const char* where, auto& figure) { json.at(Pointer(where)).get_to(figure); });
  }
  return row;
} catch (const ordered_json::exception& error) {
  return absl::InvalidArgumentError(absl::StrCat("not a row of a sweep: ", error.what()));
}

}  // namespace heaptape
