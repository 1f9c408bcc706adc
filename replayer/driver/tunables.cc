#include "replayer/driver/tunables.h"

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <iterator>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "replayer/driver/program_output.h"

namespace heaptape {

namespace {

// Limits that malloc applies later, as silently, to values within the range that
// the loader lists (malloc.c: do_set_mxfast, do_set_tcache_max, do_set_tcache_count).
struct Limit {
  absl::string_view name;
  uint64_t max;
};
constexpr Limit kLimits[] = {
    {"glibc.malloc.mxfast", 160},
    {"glibc.malloc.tcache_count", 65535},
    {"glibc.malloc.tcache_max", 1032},
};

bool ParseNumber(absl::string_view text, uint64_t* value) {
  const std::string copy(text);
  if (copy.empty() || !(copy[0] >= '0' && copy[0] <= '9')) return false;
  char* end;
  errno = 0;
  *value = std::strtoull(copy.c_str(), &end, 0);
  return errno == 0 && *end == 0;
}

// The environment variables that glibc knew before it had tunables, and knows
// still (elf/dl-tunables.list).
struct Alias {
  absl::string_view variable;
  absl::string_view tunable;
};
constexpr Alias kAliases[] = {
    {"MALLOC_ARENA_MAX", "glibc.malloc.arena_max"},
    {"MALLOC_ARENA_TEST", "glibc.malloc.arena_test"},
    {"MALLOC_CHECK_", "glibc.malloc.check"},
    {"MALLOC_MMAP_MAX_", "glibc.malloc.mmap_max"},
    {"MALLOC_MMAP_THRESHOLD_", "glibc.malloc.mmap_threshold"},
    {"MALLOC_PERTURB_", "glibc.malloc.perturb"},
    {"MALLOC_TOP_PAD_", "glibc.malloc.top_pad"},
    {"MALLOC_TRIM_THRESHOLD_", "glibc.malloc.trim_threshold"},
};

// Levenshtein's distance.
size_t EditDistance(absl::string_view a, absl::string_view b) {
  std::vector<size_t> row(b.size() + 1);
  for (size_t j = 0; j <= b.size(); ++j) row[j] = j;
  for (size_t i = 1; i <= a.size(); ++i) {
    size_t diagonal = row[0];
    row[0] = i;
    for (size_t j = 1; j <= b.size(); ++j) {
      const size_t above = row[j];
      row[j] = std::min({above + 1, row[j - 1] + 1, diagonal + (a[i - 1] != b[j - 1])});
      diagonal = above;
    }
  }
  return row[b.size()];
}

std::string RangeText(const Tunables::Range& range) {
  return range.max == ~uint64_t{0} ? absl::StrCat(range.min, " or more")
                                   : absl::StrCat(range.min, " to ", range.max);
}

}  // namespace

bool FreezesMmapThreshold(const std::map<std::string, std::string>& tunables) {
  // Each sets no_dyn_threshold (malloc.c).
  constexpr const char* kFreezing[] = {"glibc.malloc.mmap_threshold", "glibc.malloc.trim_threshold",
                                       "glibc.malloc.top_pad", "glibc.malloc.mmap_max"};
  return std::any_of(std::begin(kFreezing), std::end(kFreezing),
                     [&tunables](const char* name) { return tunables.count(name) > 0; });
}

std::string LoaderPath(const std::string& glibc_directory) {
  constexpr char kLoader[] = "/ld-linux-x86-64.so.2";
  return absl::StrCat(glibc_directory.empty() ? "/lib64" : glibc_directory, kLoader);
}

absl::string_view TunableOfVariable(absl::string_view variable) {
  for (const Alias& alias : kAliases) {
    if (variable == alias.variable) return alias.tunable;
  }
  return "";
}

absl::string_view VariableOfTunable(absl::string_view tunable) {
  for (const Alias& alias : kAliases) {
    if (tunable == alias.tunable) return alias.variable;
  }
  return "";
}

absl::string_view NearestVariable(absl::string_view variable) {
  absl::string_view nearest;
  size_t nearest_distance = variable.size() / 3 + 1;
  for (const Alias& alias : kAliases) {
    const size_t distance = EditDistance(variable, alias.variable);
    if (distance >= nearest_distance) continue;
    nearest_distance = distance;
    nearest = alias.variable;
  }
  return nearest;
}

absl::StatusOr<Tunables> Tunables::Load(const std::string& glibc_directory) {
  const std::string loader = LoaderPath(glibc_directory);
  absl::StatusOr<std::string> text = OutputOf({loader, "--list-tunables"}, {});
  if (!text.ok()) return text.status();
  absl::StatusOr<Tunables> tunables = Parse(*text);
  if (!tunables.ok()) {
    return absl::UnavailableError(absl::StrCat(loader, " --list-tunables lists none"));
  }
  return tunables;
}

// Lines such as
//   glibc.malloc.perturb: 0 (min: 0, max: 255)
//   glibc.cpu.x86_ibt:
absl::StatusOr<Tunables> Tunables::Parse(absl::string_view text) {
  Tunables tunables;
  for (absl::string_view line : absl::StrSplit(text, '\n')) {
    const std::pair<absl::string_view, absl::string_view> parts =
        absl::StrSplit(line, absl::MaxSplits(": ", 1));
    absl::string_view name = parts.first;
    if (!absl::StartsWith(name, "glibc.")) continue;
    while (!name.empty() && name.back() == ':') name.remove_suffix(1);
    Range range;
    const size_t min = parts.second.find("(min: ");
    const size_t max = parts.second.find(", max: ");
    const size_t end = parts.second.find(')');
    if (min != absl::string_view::npos && max != absl::string_view::npos &&
        end != absl::string_view::npos && min < max && max < end) {
      range.is_number = ParseNumber(parts.second.substr(min + 6, max - min - 6), &range.min) &&
                        ParseNumber(parts.second.substr(max + 7, end - max - 7), &range.max);
    }
    tunables.ranges_[std::string(name)] = range;
  }
  if (tunables.ranges_.empty()) return absl::InvalidArgumentError("no tunables");
  for (const Limit& limit : kLimits) {
    const auto found = tunables.ranges_.find(std::string(limit.name));
    if (found != tunables.ranges_.end()) {
      found->second.max = std::min(found->second.max, limit.max);
    }
  }
  return tunables;
}

absl::StatusOr<std::string> Tunables::Check(const std::string& name,
                                            const std::string& value) const {
  const auto found = ranges_.find(name);
  if (found == ranges_.end()) return Unknown(name);
  const Range& range = found->second;
  if (!range.is_number) {
    // These end a setting in GLIBC_TUNABLES.
    if (value.find_first_of(":=") == std::string::npos) return value;
    return absl::InvalidArgumentError(absl::StrCat(name, "=", value, ": ':' or '=' in the value"));
  }
  uint64_t number;
  if (!ParseNumber(value, &number)) {
    return absl::InvalidArgumentError(
        absl::StrCat(name, "=", value, ": not a number (", RangeText(range), ")"));
  }
  if (number < range.min || number > range.max) {
    return absl::InvalidArgumentError(
        absl::StrCat(name, "=", value, " is out of range: ", RangeText(range)));
  }
  return absl::StrCat(number);
}

std::string Tunables::Nearest(const std::string& name) const {
  std::string nearest;
  size_t nearest_distance = name.size() / 3 + 1;
  for (const auto& [known, range] : ranges_) {
    // Also where only the last part was given.
    const size_t distance =
        std::min(EditDistance(name, known), EditDistance(name, known.substr(known.rfind('.') + 1)));
    if (distance < nearest_distance) {
      nearest_distance = distance;
      nearest = known;
    }
  }
  return nearest;
}

absl::Status Tunables::Unknown(const std::string& name) const {
  const std::string nearest = Nearest(name);
  // All of the namespace it seems to be in, else of malloc.
  std::string space = name.substr(0, name.rfind('.') + 1);
  const auto first = ranges_.lower_bound(space);
  if (space.empty() || first == ranges_.end() || !absl::StartsWith(first->first, space)) {
    space = "glibc.malloc.";
  }
  std::vector<std::string> valid;
  for (const auto& [known, range] : ranges_) {
    if (absl::StartsWith(known, space)) valid.push_back(known.substr(space.size()));
  }
  return absl::InvalidArgumentError(absl::StrCat(
      "no tunable ", name, nearest.empty() ? "" : absl::StrCat("; did you mean ", nearest, "?"),
      nearest.empty() ? ";" : "", " ", space, "* are: ", absl::StrJoin(valid, ", ")));
}

}  // namespace heaptape
