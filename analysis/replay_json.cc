#include "analysis/replay_json.h"

#include "absl/strings/numbers.h"
#include "analysis/replay_heap.h"

namespace heaptape {
namespace {

using nlohmann::ordered_json;

// `value` if the condition that makes it known holds, else null.
template <typename T>
ordered_json KnownIf(bool known, const T& value) {
  return known ? ordered_json(value) : ordered_json();
}

ordered_json TraceJson(const std::string& trace, const ReplayResult& result) {
  const TraceHealth& health = result.health;
  // A replay that ends before its trace does not get to see the footer.
  const bool read_to_end = health.complete || !health.problems.empty();
  return {
      {"path", trace},
      {"events", result.plan.events},
      {"threads", result.plan.threads},
      {"complete", KnownIf(read_to_end, health.complete)},
      {"lost_events", health.lost_events},
      {"orphan_frees", result.plan.orphan_frees},
      {"contradictions", result.plan.contradictions},
      {"problems", health.problems},
  };
}

ordered_json SettingsJson(const SettingsInForce& settings) {
  return {
      {"allocator", settings.allocator},
      {"allocator_path", settings.allocator_path},
      {"glibc_version", KnownIf(!settings.glibc_version.empty(), settings.glibc_version)},
      {"tunables", TunablesJson(settings.tunables)},
      {"arena_limit", KnownIf(settings.arena_limit > 0, settings.arena_limit)},
      {"aslr_disabled", settings.aslr_disabled},
      {"touch", settings.touch == Touch::kPages ? "pages" : "none"},
      {"environment", settings.environment},
      {"notes", settings.notes},
  };
}

ordered_json PlacementJson(const PlacementCounts& placement) {
  ordered_json first;
  if (placement.first_event != 0) {
    first = {{"event", placement.first_event},
             {"recorded_address", placement.first_recorded},
             {"replayed_address", placement.first_replayed}};
  }
  return {{"compared", placement.compared}, {"equal", placement.equal}, {"first_difference", first}};
}

ordered_json SyscallsJson(const SyscallCounts& calls) {
  return {{"brk", calls.brk},       {"mmap", calls.mmap},         {"munmap", calls.munmap},
          {"mremap", calls.mremap}, {"mprotect", calls.mprotect}, {"madvise", calls.madvise}};
}

}  // namespace

ordered_json TunablesJson(const TunableMap& tunables) {
  ordered_json json = ordered_json::object();
  for (const auto& [name, value] : tunables) {
    uint64_t number = 0;
    json[name] = absl::SimpleAtoi(value, &number) ? ordered_json(number) : ordered_json(value);
  }
  return json;
}

ordered_json ReplayJson(const std::string& trace, const ReplayResult& result, const HolesReport& holes, bool checked) {
  const bool seen = result.settings.syscalls_seen;
  return {
      {"trace", TraceJson(trace, result)},
      {"settings", SettingsJson(result.settings)},
      {"digest", DigestText(result.digest)},
      {"checked", checked},
      {"placement", result.placement.has_value() ? PlacementJson(*result.placement) : ordered_json()},
      {"at_event", result.events_done},
      {"stopped", result.stopped},
      {"failed_calls", result.failed_calls},
      {"peak",
       {{"requested_bytes", result.peak_requested.bytes},
        {"usable_bytes", result.peak_usable.bytes},
        {"system_bytes", KnownIf(seen, result.peak_system.bytes)},
        {"resident_bytes", result.peak_resident.bytes},
        {"requested_event", result.peak_requested.event},
        {"usable_event", result.peak_usable.event},
        {"system_event", KnownIf(seen, result.peak_system.event)},
        {"resident_event", result.peak_resident.event}}},
      {"end",
       {{"requested_bytes", result.requested_bytes},
        {"usable_bytes", result.usable_bytes},
        {"overhead_bytes", holes.overhead_bytes},
        {"system_bytes", result.system_bytes},
        {"resident_bytes", result.resident_bytes},
        {"live_blocks", result.live_blocks},
        {"hole_count", holes.hole_count},
        {"hole_bytes", holes.hole_bytes},
        {"largest_hole_bytes", holes.largest_hole_bytes},
        {"trimmable_bytes", holes.trimmable_bytes}}},
      {"before_settling", result.unsettled.has_value()
                              ? ordered_json{{"system_bytes", result.unsettled->system_bytes},
                                             {"resident_bytes", result.unsettled->resident_bytes}}
                              : ordered_json()},
      {"syscalls", seen ? SyscallsJson(result.syscalls) : ordered_json()},
      {"minor_faults", result.minor_faults},
      {"peak_mappings", KnownIf(seen, result.peak_mappings)},
      {"replay_seconds", result.replay_seconds},
      {"allocator_seconds", result.allocator_seconds},
  };
}

}  // namespace heaptape
