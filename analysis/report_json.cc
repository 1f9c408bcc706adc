#include "analysis/report_json.h"

#include "analysis/growth_json.h"
#include "analysis/holes_json.h"
#include "analysis/lifetimes_text.h"
#include "analysis/replay_json.h"

namespace heaptape {

using nlohmann::ordered_json;

ordered_json ReportJson(const FullReport& report) {
  ordered_json probes = ordered_json::array();
  for (const VerdictProbe& probe : report.verdict.probes) {
    probes.push_back({{"setting", probe.setting},
                      {"purpose", probe.purpose},
                      {"system_bytes", probe.system_bytes},
                      {"peak_system_bytes", probe.peak_system_bytes},
                      {"peak_mappings", probe.peak_mappings},
                      {"system_calls", probe.system_calls}});
  }
  return {{"verdict",
           {{"mechanism", MechanismName(report.verdict.mechanism)},
            {"paragraph", report.verdict.paragraph},
            {"advice", report.verdict.advice},
            {"environment", report.verdict.environment.empty() ? ordered_json() : ordered_json(report.verdict.environment)},
            {"probes", probes}}},
          {"command", report.command},
          {"replay", ReplayJson(report.trace, report.result, report.holes, false)},
          {"holes", HolesJson(report.holes)},
          {"growth", report.growth.has_value() ? GrowthJson(*report.growth) : ordered_json()},
          {"lifetimes", LifetimesJson(report.lifetimes)},
          {"timeline", TimelineJson(report.timeline)}};
}

}  // namespace heaptape
