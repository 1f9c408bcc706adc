#include "analysis/timeline.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "analysis/text_table.h"

namespace heaptape {
namespace {

template <typename T, typename Larger>
std::vector<T> ThinnedPoints(const std::vector<T>& all, size_t points, const Larger& larger) {
  if (all.size() <= points || points < 3) return all;
  std::vector<T> kept;
  const auto peak = std::max_element(all.begin(), all.end(), [&](const T& a, const T& b) { return larger(b, a); });
  const size_t peak_at = static_cast<size_t>(peak - all.begin());
  size_t next = 0;
  for (size_t i = 0; i + 1 < points; ++i) {
    const size_t at = i * (all.size() - 1) / (points - 2);
    if (peak_at >= next && peak_at < at) kept.push_back(all[peak_at]);
    kept.push_back(all[at]);
    next = at + 1;
  }
  return kept;
}

}  // namespace

Timeline Thinned(const Timeline& timeline, size_t points) {
  return {ThinnedPoints(timeline.points, points,
                        [](const TimelinePoint& a, const TimelinePoint& b) { return a.system_bytes > b.system_bytes; }),
          ThinnedPoints(timeline.recorded, points, [](const RecordedMemory& a, const RecordedMemory& b) {
            return a.resident_bytes > b.resident_bytes;
          })};
}

uint64_t RecordedAt(const Timeline& timeline, uint64_t event) {
  const auto above = std::upper_bound(timeline.recorded.begin(), timeline.recorded.end(), event,
                                      [](uint64_t at, const RecordedMemory& memory) { return at < memory.event; });
  return above == timeline.recorded.begin() ? 0 : (above - 1)->resident_bytes;
}

std::string TimelineCsv(const Timeline& timeline) {
  std::string text = "event,requested_bytes,usable_bytes,system_bytes,resident_bytes,recorded_resident_bytes\n";
  for (const TimelinePoint& point : timeline.points) {
    absl::StrAppend(&text, point.event, ",", point.requested_bytes, ",", point.usable_bytes, ",", point.system_bytes, ",",
                    point.resident_bytes, ",");
    const uint64_t recorded = RecordedAt(timeline, point.event);
    if (recorded > 0) absl::StrAppend(&text, recorded);
    text += "\n";
  }
  return text;
}

nlohmann::ordered_json TimelineJson(const Timeline& timeline) {
  nlohmann::ordered_json points = nlohmann::ordered_json::array();
  for (const TimelinePoint& point : timeline.points) {
    points.push_back({{"event", point.event},
                      {"requested_bytes", point.requested_bytes},
                      {"usable_bytes", point.usable_bytes},
                      {"system_bytes", point.system_bytes},
                      {"resident_bytes", point.resident_bytes}});
  }
  nlohmann::ordered_json recorded = nlohmann::ordered_json::array();
  for (const RecordedMemory& memory : timeline.recorded) {
    recorded.push_back({{"event", memory.event}, {"resident_bytes", memory.resident_bytes}});
  }
  return {{"points", points}, {"recorded", recorded}};
}

std::string TimelineChart(const Timeline& timeline, size_t width, size_t height) {
  if (timeline.points.empty() || width == 0 || height == 0) return "";
  uint64_t top = 1;
  for (const TimelinePoint& point : timeline.points) top = std::max(top, point.system_bytes);
  for (const RecordedMemory& memory : timeline.recorded) top = std::max(top, memory.resident_bytes);
  const uint64_t last = std::max<uint64_t>(timeline.points.back().event, 1);
  // Of each column, the largest.
  struct Column {
    uint64_t requested = 0, system = 0, recorded = 0;
  };
  std::vector<Column> columns(width);
  const auto column_of = [&](uint64_t event) { return std::min<size_t>(event * width / (last + 1), width - 1); };
  std::vector<bool> seen(width);
  for (const TimelinePoint& point : timeline.points) {
    Column& column = columns[column_of(point.event)];
    seen[column_of(point.event)] = true;
    column.requested = std::max(column.requested, point.requested_bytes);
    column.system = std::max(column.system, point.system_bytes);
  }
  for (size_t i = 0; i < width; ++i) {
    if (!seen[i] && i > 0) columns[i] = columns[i - 1];
    columns[i].recorded = RecordedAt(timeline, (i + 1) * (last + 1) / width);
  }
  std::string text;
  for (size_t row = 0; row < height; ++row) {
    // A cell is filled if the value reaches its middle.
    const double level = (static_cast<double>(height - row) - 0.5) / static_cast<double>(height) * static_cast<double>(top);
    const double half = 0.5 / static_cast<double>(height) * static_cast<double>(top);
    std::string line;
    for (const Column& column : columns) {
      const double recorded = static_cast<double>(column.recorded);
      char cell = ' ';
      if (static_cast<double>(column.requested) >= level) {
        cell = '#';
      } else if (static_cast<double>(column.system) >= level) {
        cell = '.';
      }
      if (column.recorded > 0 && recorded >= level - half && recorded < level + half) cell = 'o';
      line += cell;
    }
    line.erase(line.find_last_not_of(' ') + 1);
    const bool labelled = row == 0 || row == height / 2;
    const double value = row == 0 ? static_cast<double>(top) : static_cast<double>(top) / 2;
    absl::StrAppend(&text, labelled ? absl::StrFormat("%9.1f ", value / 1e6) : std::string(10, ' '), "|", line, "\n");
  }
  absl::StrAppend(&text, "   0.0 MB +", std::string(width, '-'), "\n");
  const std::string end = Grouped(last);
  absl::StrAppend(&text, std::string(11, ' '), "0", std::string(width > end.size() + 1 ? width - end.size() - 1 : 1, ' '), end,
                  " events\n");
  absl::StrAppend(&text, std::string(11, ' '), "# requested  . system",
                  timeline.recorded.empty() ? "" : "  o resident, as recorded (the whole process)", "\n");
  return text;
}

}  // namespace heaptape
