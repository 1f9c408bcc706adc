#include "tools/recording_text.h"

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"

namespace heaptape {

std::string RecordingText(const RecordingSummary& recording) {
  if (recording.trace.empty()) return recording.problem;
  const double bytes_a_call =
      recording.events == 0 ? 0 : static_cast<double>(recording.bytes) / static_cast<double>(recording.events);
  std::string line = absl::StrFormat("%s: %d events, %.2f bytes a call, lost %d", recording.trace, recording.events,
                                     bytes_a_call, recording.lost_calls);
  if (!recording.problem.empty()) absl::StrAppend(&line, "; ", recording.problem);
  return line;
}

}  // namespace heaptape
