// A command that runs with the probe in it: what the probe reports of each program
// image, and what runs without it.
//
// Mainland. One thread; it changes how this process treats signals and children.

#ifndef HEAPTAPE_VERIFIER_COMMAND_RUN_H_
#define HEAPTAPE_VERIFIER_COMMAND_RUN_H_

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "verifier/probe/report.h"

namespace heaptape {

class CommandRun {
 public:
  // Makes the session directory, with `request` in it.
  static absl::StatusOr<std::unique_ptr<CommandRun>> Create(const ProbeRequest& request);
  // Removes it.
  ~CommandRun();
  CommandRun(const CommandRun&) = delete;
  CommandRun& operator=(const CommandRun&) = delete;

  // Runs `command` to its end with the library `probe` preloaded. `look` is called,
  // again and again, with a process below this one. Returns the exit status, 128 and
  // the signal's number if a signal ended it.
  absl::StatusOr<int> Run(const std::vector<std::string>& command, const std::string& probe,
                          const std::function<void(int pid)>& look);

  // What has been reported, by process and the order of its images.
  std::vector<ProbeReport> Reports() const;
  // Of one process.
  std::vector<ProbeReport> ReportsOf(int pid) const;

 private:
  explicit CommandRun(std::string directory) : directory_(std::move(directory)) {}

  const std::string directory_;
};

}  // namespace heaptape

#endif  // HEAPTAPE_VERIFIER_COMMAND_RUN_H_
