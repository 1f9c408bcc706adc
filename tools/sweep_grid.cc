#include "tools/sweep_grid.h"

#include <cstdint>
#include <string>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "tools/byte_size.h"

namespace heaptape {
namespace {

absl::Status Wrong(absl::string_view part, absl::string_view what) {
  return absl::InvalidArgumentError(absl::StrCat("\"", part, "\": ", what));
}

// LOW..HIGH*FACTOR or LOW..HIGH+STEP, HIGH included if it is met.
absl::StatusOr<std::vector<std::string>> Range(absl::string_view text) {
  const std::pair<absl::string_view, absl::string_view> ends = absl::StrSplit(text, absl::MaxSplits("..", 1));
  const size_t at = ends.second.find_first_of("*+");
  if (at == absl::string_view::npos) return Wrong(text, "a range ends in *FACTOR or +STEP, as in 32K..4M*2");
  const absl::StatusOr<uint64_t> low = ParseByteSize(ends.first);
  const absl::StatusOr<uint64_t> high = ParseByteSize(ends.second.substr(0, at));
  const absl::StatusOr<uint64_t> step = ParseByteSize(ends.second.substr(at + 1));
  if (!low.ok() || !high.ok() || !step.ok()) return Wrong(text, "not a range of numbers");
  const bool times = ends.second[at] == '*';
  if (*low > *high) return Wrong(text, "begins above its end");
  if (times ? *step < 2 || *low == 0 : *step == 0) return Wrong(text, "does not get from its beginning to its end");
  std::vector<std::string> values;
  for (uint64_t value = *low;;) {
    values.push_back(absl::StrCat(value));
    if (values.size() > kMostPoints) return Wrong(text, "too many values");
    if (times ? value > *high / *step : *high - value < *step) return values;
    value = times ? value * *step : value + *step;
  }
}

absl::StatusOr<std::vector<std::string>> Values(absl::string_view setting, absl::string_view text, bool names) {
  std::vector<std::string> values;
  for (absl::string_view value : absl::StrSplit(text, ',')) {
    if (value.empty()) return Wrong(setting, "a value is missing");
    if (names || value == "default") {
      values.emplace_back(value);
    } else if (absl::StrContains(value, "..")) {
      absl::StatusOr<std::vector<std::string>> range = Range(value);
      if (!range.ok()) return range.status();
      values.insert(values.end(), range->begin(), range->end());
    } else {
      const absl::StatusOr<uint64_t> number = ParseByteSize(value);
      if (!number.ok()) return Wrong(setting, absl::StrCat(value, " is no number, range or \"default\""));
      values.push_back(absl::StrCat(*number));
    }
  }
  return values;
}

absl::Status Set(absl::string_view setting, absl::string_view name, const std::string& value, SweepPoint* point) {
  if (value == "default") return absl::OkStatus();
  if (name == "allocator") {
    point->allocator = value;
  } else if (name == "trim") {
    if (value != "end" && value != "no") return Wrong(setting, "trim is \"end\" or \"no\"");
    point->trim_at_end = value == "end";
  } else {
    point->tunables[absl::StrContains(name, '.') ? std::string(name) : absl::StrCat("glibc.malloc.", name)] = value;
  }
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<std::vector<SweepPoint>> ParseGrid(absl::string_view spec) {
  std::vector<SweepPoint> points = {SweepPoint()};
  std::vector<absl::string_view> seen;
  for (absl::string_view setting : absl::StrSplit(spec, ' ', absl::SkipEmpty())) {
    const std::pair<absl::string_view, absl::string_view> parts = absl::StrSplit(setting, absl::MaxSplits('=', 1));
    if (parts.first.empty() || parts.first == setting) return Wrong(setting, "not of the form NAME=VALUES");
    for (absl::string_view other : seen) {
      if (other == parts.first) return Wrong(setting, absl::StrCat(parts.first, " stands twice in one grid"));
    }
    seen.push_back(parts.first);
    const bool names = parts.first == "allocator" || parts.first == "trim";
    const absl::StatusOr<std::vector<std::string>> values = Values(setting, parts.second, names);
    if (!values.ok()) return values.status();
    if (points.size() * values->size() > kMostPoints) {
      return Wrong(spec, absl::StrCat("more than ", kMostPoints, " combinations"));
    }
    std::vector<SweepPoint> product;
    for (const SweepPoint& point : points) {
      for (const std::string& value : *values) {
        product.push_back(point);
        if (absl::Status status = Set(setting, parts.first, value, &product.back()); !status.ok()) return status;
      }
    }
    points = std::move(product);
  }
  if (seen.empty()) return Wrong(spec, "an empty grid");
  return points;
}

}  // namespace heaptape
