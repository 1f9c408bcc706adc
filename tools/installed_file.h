// Files that belong to this program, found relative to its own binary.
//
// Mainland. Thread-safe.

#ifndef HEAPTAPE_TOOLS_INSTALLED_FILE_H_
#define HEAPTAPE_TOOLS_INSTALLED_FILE_H_

#include <string>

#include "absl/status/statusor.h"

namespace heaptape {

// `installed` is a path below the prefix that the binary's bin/ is in, `built`
// one below the build's output tree, where the binary is in tools/. NotFound,
// naming both, if neither is there.
absl::StatusOr<std::string> FindInstalledFile(const std::string& installed, const std::string& built);

}  // namespace heaptape

#endif  // HEAPTAPE_TOOLS_INSTALLED_FILE_H_
