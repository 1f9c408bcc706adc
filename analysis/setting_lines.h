// SettingLines: how to bring a setting into force, to paste, and what each way does
// not reach.
//
// Mainland. Thread-safe.

#ifndef HEAPTAPE_ANALYSIS_SETTING_LINES_H_
#define HEAPTAPE_ANALYSIS_SETTING_LINES_H_

#include <string>
#include <vector>

#include "proto/trace.pb.h"
#include "replayer/driver/replay_settings.h"

namespace heaptape {

struct SettingLines {
  std::string id;                  // "environment", "systemd", ...: a stable key
  std::string where;               // "systemd unit"
  std::vector<std::string> lines;  // empty if it cannot be done this way
  std::string reach;               // what it does not reach, or why it cannot be done
};

// The value for GLIBC_TUNABLES that adds `tunables` to what the recorded program had in
// it: a later assignment would replace that.
std::string TunablesVariable(const Header& recorded, const TunableMap& tunables);

// Ways to set `tunables`. The one that reaches most comes first.
std::vector<SettingLines> LinesToPaste(const Header& recorded, const TunableMap& tunables);

}  // namespace heaptape

#endif  // HEAPTAPE_ANALYSIS_SETTING_LINES_H_
