// EngineProcess: a running heaptape-engine.
//
// Mainland. One thread at a time; several processes side by side are fine. The
// engine starts alike every time: no address randomisation, an 8 MiB stack limit
// (the kernel places mappings below it), an environment of exactly what is given,
// no descriptors but its own. It dies with the thread that started it.

#ifndef HEAPTAPE_REPLAYER_DRIVER_ENGINE_PROCESS_H_
#define HEAPTAPE_REPLAYER_DRIVER_ENGINE_PROCESS_H_

#include <sys/types.h>

#include <memory>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

namespace heaptape {

// The engine that belongs to this program: $HEAPTAPE_ENGINE, else
// ../libexec/heaptape/heaptape-engine from the program's directory, else
// replayer/engine/heaptape-engine in one of its parents (a build tree). NotFound
// if there is none.
absl::StatusOr<std::string> FindEngine();

class EngineProcess {
 public:
  // Starts `path` on the two memory files; through the loader of
  // `glibc_directory` if that is not empty. Unavailable if it cannot be run.
  static absl::StatusOr<std::unique_ptr<EngineProcess>> Start(
      const std::string& path, const std::string& glibc_directory,
      const std::vector<std::string>& environment, int shared_fd, int ring_fd);

  // Kills it, if it still runs.
  ~EngineProcess();
  EngineProcess(const EngineProcess&) = delete;
  EngineProcess& operator=(const EngineProcess&) = delete;

  // Whether it has gone, without waiting for it.
  bool HasExited();
  // Waits until it is gone. Internal, with what it last wrote to stderr, if it
  // did not exit of its own accord with status 0: a crash of the allocator.
  absl::Status Wait();

  pid_t pid() const { return pid_; }

 private:
  EngineProcess(pid_t pid, int stderr_fd) : pid_(pid), stderr_fd_(stderr_fd) {}

  std::string LastWords() const;

  const pid_t pid_;
  const int stderr_fd_;  // a memory file
  bool exited_ = false;
  int wait_status_ = 0;
};

}  // namespace heaptape

#endif  // HEAPTAPE_REPLAYER_DRIVER_ENGINE_PROCESS_H_
