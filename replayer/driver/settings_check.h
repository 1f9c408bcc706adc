// CheckSettings: are the settings of an environment in force inside an engine, a
// fresh process?
//
// Mainland; no state. Starts an engine that only tries them out, a few
// milliseconds.

#ifndef HEAPTAPE_REPLAYER_DRIVER_SETTINGS_CHECK_H_
#define HEAPTAPE_REPLAYER_DRIVER_SETTINGS_CHECK_H_

#include <map>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "replayer/driver/replay_settings.h"
#include "replayer/plan/instruction.h"

namespace heaptape {

// FailedPrecondition, naming the first of `tunables` that `variables` sets and that
// has no effect. What cannot be tried is taken to be in force.
absl::Status CheckSettings(const std::string& engine, const std::string& glibc_directory,
                           const std::vector<std::string>& variables, const TunableMap& tunables);

// What trying out those of `tunables` that can be tried says, by name.
absl::StatusOr<std::map<std::string, ProbeResult>> TrySettings(const std::string& engine,
                                                              const std::string& glibc_directory,
                                                              const std::vector<std::string>& variables,
                                                              const TunableMap& tunables);

// "glibc.malloc.mmap_threshold" and the like.
std::string ProbedTunable(ProbedSetting setting);

}  // namespace heaptape

#endif  // HEAPTAPE_REPLAYER_DRIVER_SETTINGS_CHECK_H_
