// ProgramOutput: what a small program prints.
//
// Mainland; no state.

#ifndef HEAPTAPE_REPLAYER_DRIVER_PROGRAM_OUTPUT_H_
#define HEAPTAPE_REPLAYER_DRIVER_PROGRAM_OUTPUT_H_

#include <string>
#include <vector>

#include "absl/status/statusor.h"

namespace heaptape {

// The standard output of `arguments`, the first of them a path, run to its end
// under exactly `environment`: ours may set tunables. Its errors go nowhere.
// Unavailable if it cannot be run.
absl::StatusOr<std::string> OutputOf(const std::vector<std::string>& arguments,
                                     const std::vector<std::string>& environment);

}  // namespace heaptape

#endif  // HEAPTAPE_REPLAYER_DRIVER_PROGRAM_OUTPUT_H_
