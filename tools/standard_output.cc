#include "tools/standard_output.h"

#include <errno.h>
#include <unistd.h>

namespace heaptape {

absl::Status WriteStandardOutput(absl::string_view text) {
  while (!text.empty()) {
    const ssize_t n = write(STDOUT_FILENO, text.data(), text.size());
    if (n < 0 && errno == EINTR) continue;
    if (n < 0 && errno == EPIPE) return absl::CancelledError("nobody reads standard output");
    if (n < 0) return absl::ErrnoToStatus(errno, "cannot write to standard output");
    text.remove_prefix(static_cast<size_t>(n));
  }
  return absl::OkStatus();
}

}  // namespace heaptape
