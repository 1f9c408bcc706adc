#include "analysis/sweep_point.h"

#include <cstdint>
#include <initializer_list>
#include <utility>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/strip.h"

namespace heaptape {
namespace {

constexpr char kMalloc[] = "glibc.malloc.";

SweepPoint With(std::initializer_list<std::pair<const char*, uint64_t>> settings) {
  SweepPoint point;
  for (const auto& [name, value] : settings) point.tunables[absl::StrCat(kMalloc, name)] = absl::StrCat(value);
  return point;
}

constexpr uint64_t KiB(uint64_t n) { return n << 10; }
constexpr uint64_t MiB(uint64_t n) { return n << 20; }
// More than any heap has at its top: nothing is given back.
constexpr uint64_t kNever = 4294967295;

// As a size is given on the command line: 64K.
std::string ShortNumber(const std::string& value) {
  uint64_t number = 0;
  if (!absl::SimpleAtoi(value, &number) || number == 0) return value;
  for (const auto& [shift, unit] : {std::pair(30, "G"), std::pair(20, "M"), std::pair(10, "K")}) {
    if (number >> shift << shift == number) return absl::StrCat(number >> shift, unit);
  }
  return value;
}

}  // namespace

std::string PointName(const SweepPoint& point) {
  std::vector<std::string> parts;
  if (point.allocator != "glibc") parts.push_back(point.allocator);
  for (const auto& [name, value] : point.tunables) {
    parts.push_back(absl::StrCat(absl::StripPrefix(name, kMalloc), "=", ShortNumber(value)));
  }
  if (point.trim_at_end) parts.push_back("malloc_trim(0) at the end");
  return parts.empty() ? "as recorded" : absl::StrJoin(parts, " ");
}

std::vector<SweepPoint> DefaultGrid(const std::vector<std::string>& allocators) {
  std::vector<SweepPoint> grid = {
      With({{"mmap_threshold", KiB(32)}}),
      With({{"mmap_threshold", KiB(64)}}),
      With({{"mmap_threshold", KiB(128)}}),
      With({{"mmap_threshold", MiB(1)}}),
      With({{"mmap_threshold", MiB(4)}}),
      With({{"mmap_threshold", MiB(32)}}),
      FreezeProbe(),
      With({{"trim_threshold", MiB(1)}}),
      With({{"trim_threshold", MiB(64)}}),
      With({{"top_pad", 0}}),
      With({{"top_pad", MiB(1)}}),
      With({{"top_pad", MiB(16)}}),
      With({{"mmap_max", 0}}),
      With({{"arena_max", 1}}),
      With({{"arena_max", 2}}),
      With({{"arena_max", 4}}),
      With({{"tcache_count", 0}}),
      With({{"tcache_count", 2}}),
      With({{"tcache_count", 64}}),
      With({{"mxfast", 0}}),
      With({{"hugetlb", 1}}),
      // A block that is mmapped alone is given back whole; what is left in the heap
      // goes only if the top may shrink, and no freed block holds it.
      With({{"mmap_threshold", KiB(64)}, {"trim_threshold", KiB(64)}}),
      With({{"mmap_threshold", KiB(64)}, {"arena_max", 1}}),
      With({{"mmap_threshold", KiB(128)}, {"arena_max", 2}}),
      With({{"mmap_threshold", KiB(128)}, {"tcache_count", 0}}),
      With({{"arena_max", 1}, {"tcache_count", 0}}),
      With({{"arena_max", 1}, {"trim_threshold", KiB(128)}}),
      With({{"tcache_count", 0}, {"mxfast", 0}}),
      With({{"trim_threshold", KiB(128)}, {"top_pad", 0}}),
      // The opposite of giving back: fewest system calls and faults.
      With({{"mmap_max", 0}, {"trim_threshold", kNever}}),
      With({{"mmap_threshold", MiB(32)}, {"trim_threshold", MiB(64)}}),
  };
  grid.emplace_back().trim_at_end = true;
  for (const std::string& allocator : allocators) grid.emplace_back().allocator = allocator;
  return grid;
}

SweepPoint FreezeProbe() { return With({{"trim_threshold", KiB(128)}}); }

}  // namespace heaptape
