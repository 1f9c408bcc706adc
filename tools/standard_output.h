// Writing to standard output, where a report is not done before it has arrived.
//
// Mainland, above everything. Main thread alone. Unbuffered: callers bring
// whole reports, or pieces of some 64 KiB.

#ifndef HEAPTAPE_TOOLS_STANDARD_OUTPUT_H_
#define HEAPTAPE_TOOLS_STANDARD_OUTPUT_H_

#include "absl/status/status.h"
#include "absl/strings/string_view.h"

namespace heaptape {

// Writes all of `text`. Cancelled when nobody reads any more (`| head`), where
// SIGPIPE has not ended the program anyway; else the error of write(2).
absl::Status WriteStandardOutput(absl::string_view text);

}  // namespace heaptape

#endif  // HEAPTAPE_TOOLS_STANDARD_OUTPUT_H_
