// Nearest: what somebody who mistyped a name probably meant.
//
// Mainland. Thread-safe.

#ifndef HEAPTAPE_TOOLS_NEAREST_H_
#define HEAPTAPE_TOOLS_NEAREST_H_

#include <string>
#include <vector>

#include "absl/strings/string_view.h"

namespace heaptape {

// The candidate that the fewest changed, added, dropped or swapped characters
// make of `word`; empty if it would take more than a third of them.
std::string Nearest(absl::string_view word, const std::vector<std::string>& candidates);

}  // namespace heaptape

#endif  // HEAPTAPE_TOOLS_NEAREST_H_
