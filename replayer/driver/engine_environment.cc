#include "replayer/driver/engine_environment.h"

#include <unistd.h>

#include <algorithm>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"

namespace heaptape {

namespace {

constexpr char kArenaMax[] = "glibc.malloc.arena_max";
constexpr char kArenaTest[] = "glibc.malloc.arena_test";

// arena_test of a 64-bit glibc that nobody has set.
constexpr uint64_t kDefaultArenaTest = 8;

struct KnownAllocator {
  absl::string_view name;
  std::vector<absl::string_view> libraries;
  absl::string_view package;
};

const std::vector<KnownAllocator>& KnownAllocators() {
  static const auto* const kAllocators = new std::vector<KnownAllocator>{
      {"jemalloc", {"libjemalloc.so.2", "libjemalloc.so.1"}, "libjemalloc2"},
      {"tcmalloc", {"libtcmalloc_minimal.so.4", "libtcmalloc.so.4"}, "libtcmalloc-minimal4"},
      {"mimalloc",
       {"libmimalloc.so.2", "libmimalloc.so.2.0", "libmimalloc.so.3"},
       "libmimalloc2.0"},
  };
  return *kAllocators;
}

constexpr absl::string_view kLibraryDirectories[] = {
    "/usr/local/lib", "/usr/lib/x86_64-linux-gnu", "/usr/lib64", "/usr/lib", "/lib64", "/lib"};

bool IsReadable(const std::string& path) { return access(path.c_str(), R_OK) == 0; }

}  // namespace

TunableMap RecordedTunables(const Header& header) {
  TunableMap tunables;
  TunableMap aliases;
  for (const std::string& variable : header.environment()) {
    const std::pair<absl::string_view, absl::string_view> parts =
        absl::StrSplit(variable, absl::MaxSplits('=', 1));
    if (parts.first == "GLIBC_TUNABLES") {
      for (absl::string_view setting : absl::StrSplit(parts.second, ':')) {
        const std::pair<absl::string_view, absl::string_view> pair =
            absl::StrSplit(setting, absl::MaxSplits('=', 1));
        if (absl::StartsWith(pair.first, "glibc.malloc.")) {
          tunables[std::string(pair.first)] = std::string(pair.second);
        }
      }
    }
    const absl::string_view tunable = TunableOfVariable(parts.first);
    if (!tunable.empty()) aliases.emplace(std::string(tunable), std::string(parts.second));
  }
  tunables.insert(aliases.begin(), aliases.end());  // does not replace
  return tunables;
}

uint64_t DefaultArenaLimit(uint32_t cpus, uint64_t arena_test) {
  constexpr uint64_t kArenasPerCpu = 8;  // NARENAS_FROM_NCORES, 64-bit
  constexpr uint32_t kAssumedCpus = 8;
  return std::max<uint64_t>(kArenasPerCpu * (cpus != 0 ? cpus : kAssumedCpus), arena_test + 1);
}

absl::StatusOr<std::string> AllocatorPath(const std::string& allocator) {
  if (allocator.empty() || allocator == "glibc") return std::string();
  if (absl::StrContains(allocator, '/')) {
    if (IsReadable(allocator)) return allocator;
    return absl::NotFoundError(absl::StrCat("allocator ", allocator, ": no such readable file"));
  }
  std::vector<absl::string_view> names = {"glibc"};
  for (const KnownAllocator& known : KnownAllocators()) {
    names.push_back(known.name);
    if (known.name != allocator) continue;
    for (absl::string_view directory : kLibraryDirectories) {
      for (absl::string_view library : known.libraries) {
        const std::string path = absl::StrCat(directory, "/", library);
        if (IsReadable(path)) return path;
      }
    }
    return absl::NotFoundError(absl::StrCat("allocator ", allocator, " is not installed (",
                                            known.libraries[0], "; Debian package ", known.package,
                                            ")"));
  }
  return absl::InvalidArgumentError(absl::StrCat("no allocator ", allocator, "; known are ",
                                                 absl::StrJoin(names, ", "),
                                                 ", or the path of a shared object"));
}

std::vector<std::string> InstalledAllocators() {
  std::vector<std::string> installed;
  for (const KnownAllocator& known : KnownAllocators()) {
    const std::string name(known.name);
    if (AllocatorPath(name).ok()) installed.push_back(name);
  }
  return installed;
}

absl::StatusOr<EngineEnvironment> ComposeEnvironment(const Header& header,
                                                     const ReplaySettings& settings,
                                                     const Tunables& known) {
  EngineEnvironment result;
  for (const auto& [name, value] : RecordedTunables(header)) {
    const absl::StatusOr<std::string> checked = known.Check(name, value);
    if (checked.ok()) {
      result.tunables[name] = *checked;
    } else if (settings.tunables.count(name) == 0) {
      result.notes.push_back(
          absl::StrCat("recorded under ", name, "=", value, ", which this glibc ignores"));
    }
  }
  for (const auto& [name, value] : settings.tunables) {
    const absl::StatusOr<std::string> checked = known.Check(name, value);
    if (!checked.ok()) return checked.status();
    result.tunables[name] = *checked;
  }

  const absl::StatusOr<std::string> preload = AllocatorPath(settings.allocator);
  if (!preload.ok()) return preload.status();
  TunableMap in_force = result.tunables;
  if (preload->empty() && in_force.count(kArenaMax) == 0) {
    uint64_t arena_test = kDefaultArenaTest;
    const auto test = in_force.find(kArenaTest);
    if (test != in_force.end() && !absl::SimpleAtoi(test->second, &arena_test)) {
      arena_test = kDefaultArenaTest;
    }
    result.arena_limit = DefaultArenaLimit(header.cpus(), arena_test);
    in_force[kArenaMax] = absl::StrCat(result.arena_limit);
  }
  if (!in_force.empty()) {
    result.variables.push_back(
        absl::StrCat("GLIBC_TUNABLES=", absl::StrJoin(in_force, ":", absl::PairFormatter("="))));
  }
  if (!preload->empty()) result.variables.push_back(absl::StrCat("LD_PRELOAD=", *preload));
  return result;
}

}  // namespace heaptape
