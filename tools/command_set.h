// CommandSet: the subcommands of `heaptape`, and how each is parsed, run, and
// reported. A subcommand is a file that offers one function which calls Add.
//
// Mainland, above everything. Main thread alone.

#ifndef HEAPTAPE_TOOLS_COMMAND_SET_H_
#define HEAPTAPE_TOOLS_COMMAND_SET_H_

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "CLI/CLI.hpp"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace heaptape {

inline constexpr int kExitOk = 0;
inline constexpr int kExitFailed = 1;
inline constexpr int kExitUsage = 2;

// The command line makes no sense, in a way that only the command could see:
// the program says so, points to --help and exits with kExitUsage.
absl::Status UsageError(absl::string_view message);

class CommandSet {
 public:
  // What the program exits with; an error is printed as one line and is
  // kExitFailed, or kExitUsage if it is a UsageError.
  using Run = std::function<absl::StatusOr<int>()>;

  CommandSet();

  // Adds `heaptape NAME`, which `sentence` describes, and returns where its
  // options go. `run` is called after they have been parsed.
  CLI::App& Add(const std::string& name, const std::string& sentence, Run run);

  // Parses, runs, reports; returns the exit code.
  int Main(int argc, const char* const* argv);

 private:
  struct Command {
    CLI::App* app;
    Run run;
  };

  int ReportUsage(const std::string& command, const std::string& message) const;

  CLI::App app_;
  std::vector<Command> commands_;
};

// An option that takes one of `choices`, shown in help as "text|json".
CLI::Option* AddChoice(CLI::App& app, const std::string& name, std::string* value,
                       const std::vector<std::string>& choices, const std::string& description);

}  // namespace heaptape

#endif  // HEAPTAPE_TOOLS_COMMAND_SET_H_
