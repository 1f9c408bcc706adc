#include "analysis/setting_lines.h"

#include <climits>
#include <cstdint>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"
#include "replayer/driver/tunables.h"

namespace heaptape {
namespace {

constexpr char kTunables[] = "GLIBC_TUNABLES";

// mallopt's parameters (malloc.h).
struct Parameter {
  const char* tunable;
  const char* name;
  int number;
};
constexpr Parameter kParameters[] = {
    {"glibc.malloc.arena_max", "M_ARENA_MAX", -8},
    {"glibc.malloc.arena_test", "M_ARENA_TEST", -7},
    {"glibc.malloc.mmap_max", "M_MMAP_MAX", -4},
    {"glibc.malloc.mmap_threshold", "M_MMAP_THRESHOLD", -3},
    {"glibc.malloc.mxfast", "M_MXFAST", 1},
    {"glibc.malloc.perturb", "M_PERTURB", -6},
    {"glibc.malloc.top_pad", "M_TOP_PAD", -2},
    {"glibc.malloc.trim_threshold", "M_TRIM_THRESHOLD", -1},
};

std::string ShortName(const std::string& tunable) {
  return std::string(absl::StripPrefix(tunable, "glibc.malloc."));
}

// The mallopt calls for `tunables`; empty, with *why, if one cannot be made.
std::vector<std::pair<Parameter, int>> MalloptCalls(const TunableMap& tunables, std::string* why) {
  std::vector<std::pair<Parameter, int>> calls;
  for (const auto& [name, value] : tunables) {
    const Parameter* parameter = nullptr;
    for (const Parameter& known : kParameters) {
      if (name == known.tunable) parameter = &known;
    }
    uint64_t number = 0;
    if (parameter == nullptr) {
      *why = absl::StrCat("mallopt has no parameter for ", ShortName(name), ": the environment alone sets it");
      return {};
    }
    if (!absl::SimpleAtoi(value, &number) || number > INT_MAX) {
      *why = absl::StrCat("mallopt takes an int, and ", ShortName(name), "=", value, " is none: the environment alone sets it");
      return {};
    }
    calls.push_back({*parameter, static_cast<int>(number)});
  }
  return calls;
}

// The ways in which GLIBC_TUNABLES gets into an environment.
std::vector<SettingLines> EnvironmentLines(const std::string& value) {
  return {
      {"environment", "shell, before the program starts", {absl::StrCat("export ", kTunables, "=", value)},
       "Read once, as a program starts: does not reach processes that run already, what a program sets for itself (os.environ, setenv), "
       "nor setuid programs and those with file capabilities, for which glibc ignores it."},
      {"systemd", "systemd, in [Service] of the unit (systemctl edit NAME)", {absl::StrCat("Environment=\"", kTunables, "=", value, "\"")},
       "Takes effect after `systemctl daemon-reload` and a restart of the unit; does not reach what other units or cron start."},
      {"docker", "Dockerfile; or docker run -e NAME=VALUE", {absl::StrCat("ENV ", kTunables, "=\"", value, "\"")},
       "Reaches containers started from the rebuilt image, not those that run; ENTRYPOINT scripts that clean the environment drop it."},
      {"kubernetes", "Kubernetes, in the container's spec",
       {"env:", absl::StrCat("  - name: ", kTunables), absl::StrCat("    value: \"", value, "\"")},
       "Reaches pods made after the change; each container of a pod has its own env."},
  };
}

SettingLines OlderVariables(const TunableMap& tunables) {
  SettingLines older = {"older_variables", "the older variables, for programs whose GLIBC_TUNABLES is taken", {},
                        "As above; where both are set GLIBC_TUNABLES wins."};
  for (const auto& [name, value] : tunables) {
    const absl::string_view variable = VariableOfTunable(name);
    if (variable.empty()) {
      older.lines.clear();
      older.reach = absl::StrCat("There is no older variable for ", ShortName(name), ".");
      return older;
    }
    older.lines.push_back(absl::StrCat("export ", variable, "=", value));
  }
  return older;
}

SettingLines CLines(const TunableMap& tunables) {
  SettingLines c = {"c", "C or C++, first thing in main", {},
                    "Reaches this process and what it forks, not what it executes; not memory allocated before the call, by constructors say."};
  const auto calls = MalloptCalls(tunables, &c.reach);
  if (!calls.empty()) c.lines.push_back("#include <malloc.h>");
  for (const auto& [parameter, value] : calls) c.lines.push_back(absl::StrCat("mallopt(", parameter.name, ", ", value, ");"));
  return c;
}

SettingLines PythonLines(const TunableMap& tunables) {
  SettingLines python = {"python", "Python, before anything large is imported", {},
                         "Reaches this process and workers that it forks; workers that are spawned need it too. Setting os.environ instead changes nothing in a process that runs. Blocks of up to 512 bytes are pymalloc's, which no setting of malloc reaches."};
  const auto calls = MalloptCalls(tunables, &python.reach);
  if (!calls.empty()) python.lines = {"import ctypes", "libc = ctypes.CDLL(\"libc.so.6\")"};
  for (const auto& [parameter, value] : calls) {
    python.lines.push_back(absl::StrCat("libc.mallopt(", parameter.number, ", ", value, ")  # ", parameter.name));
  }
  return python;
}

}  // namespace

std::string TunablesVariable(const Header& recorded, const TunableMap& tunables) {
  std::vector<std::string> settings;
  for (const std::string& variable : recorded.environment()) {
    const std::pair<std::string, std::string> parts = absl::StrSplit(variable, absl::MaxSplits('=', 1));
    if (parts.first != kTunables) continue;
    for (absl::string_view setting : absl::StrSplit(parts.second, ':', absl::SkipEmpty())) {
      const std::pair<std::string, std::string> pair = absl::StrSplit(setting, absl::MaxSplits('=', 1));
      if (tunables.count(pair.first) == 0) settings.emplace_back(setting);
    }
  }
  for (const auto& [name, value] : tunables) settings.push_back(absl::StrCat(name, "=", value));
  return absl::StrJoin(settings, ":");
}

std::vector<SettingLines> LinesToPaste(const Header& recorded, const TunableMap& tunables) {
  std::vector<SettingLines> ways = EnvironmentLines(TunablesVariable(recorded, tunables));
  ways.insert(ways.begin() + 1, OlderVariables(tunables));
  ways.push_back(CLines(tunables));
  ways.push_back(PythonLines(tunables));
  return ways;
}

}  // namespace heaptape
