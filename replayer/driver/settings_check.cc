#include "replayer/driver/settings_check.h"

#include <iterator>
#include <memory>
#include <utility>

#include "absl/status/statusor.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "replayer/driver/engine_process.h"
#include "replayer/driver/plan_writer.h"
#include "replayer/driver/shared_memory.h"
#include "replayer/plan/instruction.h"

namespace heaptape {

namespace {

// By ProbedSetting.
constexpr absl::string_view kNames[] = {
    "glibc.malloc.mmap_threshold", "glibc.malloc.trim_threshold", "glibc.malloc.top_pad",
    "glibc.malloc.mmap_max",       "glibc.malloc.arena_max",      "glibc.malloc.tcache_count",
    "glibc.malloc.tcache_max",     "glibc.malloc.mxfast",         "glibc.malloc.perturb"};
static_assert(std::size(kNames) == kProbedSettings);

// Huge pages change the sizes by which the others are recognised.
constexpr char kHugetlb[] = "glibc.malloc.hugetlb";

bool SetProbes(const TunableMap& tunables, ProbeSlot* probes) {
  if (tunables.count(kHugetlb) > 0) return false;
  bool any = false;
  for (uint32_t i = 0; i < kProbedSettings; ++i) {
    const auto found = tunables.find(std::string(kNames[i]));
    if (found == tunables.end() || !absl::SimpleAtoi(found->second, &probes[i].value)) continue;
    probes[i].is_set = 1;
    any = true;
  }
  return any;
}

}  // namespace

absl::StatusOr<std::map<std::string, ProbeResult>> TrySettings(const std::string& engine,
                                                              const std::string& glibc_directory,
                                                              const std::vector<std::string>& variables,
                                                              const TunableMap& tunables) {
  std::map<std::string, ProbeResult> results;
  absl::StatusOr<SharedMemory> shared = SharedMemory::Create("heaptape probe", kSharedBytes, kSlotsOffset);
  if (!shared.ok()) return shared.status();
  SharedHeader& header = *reinterpret_cast<SharedHeader*>(shared->data());
  header.version = kSharedVersion;
  header.probe_only = 1;
  if (!SetProbes(tunables, header.probes)) return results;
  absl::StatusOr<std::unique_ptr<EngineProcess>> process =
      EngineProcess::Start(engine, glibc_directory, variables, shared->fd(), shared->fd());
  if (!process.ok()) return process.status();
  const absl::Status ended = (*process)->Wait();
  if (!ended.ok()) return ended;
  for (uint32_t i = 0; i < kProbedSettings; ++i) {
    if (header.probes[i].is_set != 0) results[std::string(kNames[i])] = header.probes[i].result;
  }
  return results;
}

absl::Status CheckSettings(const std::string& engine, const std::string& glibc_directory,
                           const std::vector<std::string>& variables, const TunableMap& tunables) {
  const auto results = TrySettings(engine, glibc_directory, variables, tunables);
  if (!results.ok()) return results.status();
  for (const auto& [name, result] : *results) {
    if (result != ProbeResult::kIgnored) continue;
    return absl::FailedPreconditionError(
        absl::StrCat(name, "=", tunables.at(name), " has no effect on this glibc"));
  }
  return absl::OkStatus();
}

std::string ProbedTunable(ProbedSetting setting) { return std::string(kNames[setting]); }

}  // namespace heaptape
