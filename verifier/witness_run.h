// What the witness finds out about a glibc.
//
// Mainland; no state. Each call runs a small process under that glibc, a
// millisecond or two.

#ifndef HEAPTAPE_VERIFIER_WITNESS_RUN_H_
#define HEAPTAPE_VERIFIER_WITNESS_RUN_H_

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "verifier/malloc_layout.h"

namespace heaptape {

struct WitnessedGlibc {
  std::string version;
  MallocLayout layout;
};

// `witness` is the program's path, `glibc_directory` one with a libc.so.6 and its
// dynamic linker. Unavailable if it cannot be run there, or finds nothing.
absl::StatusOr<WitnessedGlibc> WitnessLayout(const std::string& witness, const std::string& glibc_directory);

// What malloc goes by in a fresh process under `environment`.
absl::StatusOr<MallocParameters> WitnessParameters(const std::string& witness, const std::string& glibc_directory,
                                                   const MallocLayout& layout,
                                                   const std::vector<std::string>& environment);

}  // namespace heaptape

#endif  // HEAPTAPE_VERIFIER_WITNESS_RUN_H_
