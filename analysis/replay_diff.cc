#include "analysis/replay_diff.h"

#include <algorithm>
#include <cmath>

#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "analysis/text_table.h"

namespace heaptape {
namespace {

using nlohmann::ordered_json;

// Parts of a replay's report that are figures of the heap, and what it costs.
constexpr const char* kParts[] = {"peak", "end", "syscalls"};
constexpr const char* kFigures[] = {"peak_mappings", "minor_faults", "allocator_seconds", "replay_seconds"};

std::optional<double> Number(const ordered_json& json, const std::string& part, const std::string& key) {
  const ordered_json* at = &json;
  if (!part.empty()) {
    if (!json.contains(part)) return std::nullopt;
    at = &json[part];
  }
  if (!at->is_object() || !at->contains(key) || !(*at)[key].is_number()) return std::nullopt;
  return (*at)[key].get<double>();
}

std::string NameOf(const ordered_json& json) {
  std::string name = json["trace"].contains("path") && json["trace"]["path"].is_string()
                         ? json["trace"]["path"].get<std::string>()
                         : std::string("?");
  if (json.contains("settings") && json["settings"].is_object() && json["settings"].contains("tunables")) {
    for (const auto& [key, value] : json["settings"]["tunables"].items()) absl::StrAppend(&name, " ", key, "=", value.dump());
  }
  return name;
}

bool IsWhole(const DiffRow& row) { return !absl::EndsWith(row.key, "_seconds"); }

std::string Shown(const std::optional<double>& value, const DiffRow& row) {
  if (!value.has_value()) return "-";
  return IsWhole(row) ? Grouped(static_cast<uint64_t>(*value)) : absl::StrFormat("%.3f", *value);
}

std::string ChangeText(const DiffRow& row) {
  if (!row.a.has_value() || !row.b.has_value()) return "";
  const double change = *row.b - *row.a;
  if (!IsWhole(row)) return absl::StrFormat("%+.3f", change);
  if (change == 0) return "0";
  return absl::StrCat(change < 0 ? "-" : "+", Grouped(static_cast<uint64_t>(std::fabs(change))));
}

std::string PercentText(const DiffRow& row) {
  if (!row.a.has_value() || !row.b.has_value() || *row.a == 0) return "";
  return absl::StrFormat("%+.1f", 100 * (*row.b - *row.a) / *row.a);
}

absl::Status NoLimit(const std::string& text) {
  return absl::InvalidArgumentError(absl::StrCat("\"", text, "\" is no limit; one is like 'end.system_bytes>+5%' or 'peak_mappings>=1000'"));
}

}  // namespace

absl::StatusOr<ReplayDiff> DiffReplays(const ordered_json& a, const ordered_json& b) {
  for (const ordered_json* json : {&a, &b}) {
    if (!json->is_object() || !json->contains("trace") || !(*json)["trace"].is_object() || !json->contains("end")) {
      return absl::InvalidArgumentError("not what `heaptape replay --format=json` prints");
    }
  }
  ReplayDiff diff;
  diff.a = NameOf(a);
  diff.b = NameOf(b);
  diff.same_digest = a.contains("digest") && b.contains("digest") && a["digest"] == b["digest"];
  const auto add = [&](const std::string& part, const std::string& key) {
    DiffRow row = {.key = part.empty() ? key : absl::StrCat(part, ".", key), .a = Number(a, part, key), .b = Number(b, part, key)};
    if (row.a.has_value() || row.b.has_value()) diff.rows.push_back(std::move(row));
  };
  for (const char* part : kParts) {
    // Of both, in the order of the first that has it.
    std::vector<std::string> keys;
    for (const ordered_json* json : {&a, &b}) {
      if (!json->contains(part) || !(*json)[part].is_object()) continue;
      for (const auto& [key, value] : (*json)[part].items()) {
        if (std::find(keys.begin(), keys.end(), key) == keys.end()) keys.push_back(key);
      }
    }
    for (const std::string& key : keys) add(part, key);
  }
  for (const char* key : kFigures) add("", key);
  return diff;
}

absl::StatusOr<DiffLimit> ParseDiffLimit(const std::string& text) {
  DiffLimit limit;
  limit.text = text;
  const size_t at = text.find_first_of("<>");
  if (at == std::string::npos || at == 0) return NoLimit(text);
  limit.key = text.substr(0, at);
  limit.greater = text[at] == '>';
  std::string number = text.substr(at + 1);
  if (!number.empty() && number[0] == '=') {
    limit.or_equal = true;
    number.erase(0, 1);
  }
  if (!number.empty() && (number[0] == '+' || number[0] == '-')) limit.change = true;
  double unit = 1;
  if (!number.empty()) {
    switch (number.back()) {
      case '%': limit.percent = true; break;
      case 'K': unit = 1024; break;
      case 'M': unit = 1024 * 1024; break;
      case 'G': unit = 1024 * 1024 * 1024; break;
      default: unit = 0; break;
    }
    if (unit == 0) {
      unit = 1;
    } else {
      number.pop_back();
    }
  }
  if (limit.percent && !limit.change) return NoLimit(text);
  if (!absl::SimpleAtod(number, &limit.limit) || !std::isfinite(limit.limit)) return NoLimit(text);
  limit.limit *= unit;
  return limit;
}

absl::StatusOr<std::optional<std::string>> Broken(const DiffLimit& limit, const ReplayDiff& diff) {
  const auto row = std::find_if(diff.rows.begin(), diff.rows.end(), [&](const DiffRow& each) { return each.key == limit.key; });
  if (row == diff.rows.end() || !row->b.has_value() || (limit.change && !row->a.has_value())) {
    return absl::NotFoundError(absl::StrCat(limit.text, ": neither replay, or only one, has a ", limit.key));
  }
  double value = *row->b;
  if (limit.change) value -= *row->a;
  double bound = limit.limit;
  // Of A, which may be 0.
  if (limit.percent) bound *= *row->a / 100;
  const bool broken = value == bound ? limit.or_equal : (value > bound) == limit.greater;
  if (!broken) return std::optional<std::string>();
  return std::optional<std::string>(absl::StrCat(limit.text, ": ", limit.key, " is ", Shown(row->b, *row), ", was ", Shown(row->a, *row),
                                                 PercentText(*row).empty() ? "" : absl::StrCat(" (", PercentText(*row), " %)")));
}

std::string ReplayDiffText(const ReplayDiff& diff) {
  TextTable table("lrrrr");
  table.Add({"", "A", "B", "change", "%"});
  for (const DiffRow& row : diff.rows) {
    table.Add({row.key, Shown(row.a, row), Shown(row.b, row), ChangeText(row), PercentText(row)});
  }
  return absl::StrCat("A  ", Printable(diff.a), "\nB  ", Printable(diff.b), "\n\n", table.Render(), "\n",
                      diff.same_digest ? "digests agree: each address is the same\n" : "digests differ\n");
}

ordered_json ReplayDiffJson(const ReplayDiff& diff, const std::vector<std::string>& broken) {
  ordered_json rows = ordered_json::object();
  for (const DiffRow& row : diff.rows) {
    rows[row.key] = {{"a", row.a.has_value() ? ordered_json(*row.a) : ordered_json()},
                     {"b", row.b.has_value() ? ordered_json(*row.b) : ordered_json()}};
  }
  return {{"a", diff.a}, {"b", diff.b}, {"same_digest", diff.same_digest}, {"figures", rows}, {"broken", broken}};
}

}  // namespace heaptape
