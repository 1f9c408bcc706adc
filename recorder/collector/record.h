// Recording a command that we start ourselves.
//
// Mainland.

#ifndef HEAPTAPE_RECORDER_COLLECTOR_RECORD_H_
#define HEAPTAPE_RECORDER_COLLECTOR_RECORD_H_

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "recorder/collector/recording.h"
#include "recorder/wire/session.h"

namespace heaptape {

struct RecordOptions {
  std::vector<std::string> command;
  std::string pattern = "%e.%p.heaptape";  // see TracePath
  std::string interposer;                  // path of libheaptape.so
  wire::SessionConfig config;
};

struct RecordResult {
  int wait_status = 0;                       // of the command, as from wait(2)
  std::vector<RecordingSummary> recordings;  // one for each program image
  // Recorded processes that outlive the command; a process in the background
  // goes on recording them.
  size_t still_running = 0;
  std::string session;  // where something is left that could not be written; else empty
};

// Runs the command to its end. NotFound or PermissionDenied when it cannot be
// started, the status of the first system call that fails otherwise. SIGINT and
// SIGTERM are left to the command: it gets them too, or from us.
absl::StatusOr<RecordResult> Record(const RecordOptions& options);

}  // namespace heaptape

#endif  // HEAPTAPE_RECORDER_COLLECTOR_RECORD_H_
