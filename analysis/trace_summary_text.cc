#include "analysis/trace_summary_text.h"

#include <algorithm>
#include <numeric>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_replace.h"
#include "absl/time/time.h"
#include "analysis/json_text.h"
#include "analysis/message_json.h"
#include "analysis/python_note.h"
#include "analysis/text_table.h"
#include "nlohmann/json.hpp"

namespace heaptape {
namespace {

using nlohmann::ordered_json;

std::string Plain(const ordered_json& value) {
  if (value.is_string()) return Printable(value.get<std::string>());
  return value.dump();
}

// {"a":1,"b":2} as "a=1 b=2".
std::string OneLine(const ordered_json& value) {
  if (!value.is_object()) return Plain(value);
  std::string line;
  for (const auto& [key, member] : value.items()) {
    absl::StrAppend(&line, line.empty() ? "" : " ", key, "=", OneLine(member));
  }
  return line;
}

// A member of a repeated field, in its own words.
std::string ElementText(const std::string& field, const ordered_json& element) {
  const auto limit = [&element](const char* key) {
    const uint64_t value = element.value(key, uint64_t{0});
    return value == ~uint64_t{0} ? "unlimited" : absl::StrCat(value);
  };
  if (field == "limits") {
    return absl::StrCat(Printable(element.value("name", "")), " ", limit("soft"), ", hard ", limit("hard"));
  }
  if (field == "objects") {
    return absl::StrCat("0x", absl::Hex(element.value("base", uint64_t{0})), " ", Printable(element.value("path", "")),
                        " ", Printable(element.value("build_id", "")));
  }
  return OneLine(element);
}

// One row a field; a repeated one has a row an element, but for a command line.
void AddFields(const ordered_json& fields, TextTable* table) {
  for (const auto& [key, value] : fields.items()) {
    const std::string name = absl::StrReplaceAll(key, {{"_", " "}});
    if (key == "command_line") {
      std::string words;
      for (const ordered_json& word : value) absl::StrAppend(&words, words.empty() ? "" : " ", Plain(word));
      table->Add({name, words});
    } else if (key == "wall_time_ns") {
      const absl::Time time = absl::FromUnixNanos(value.get<int64_t>());
      table->Add({"wall time", absl::FormatTime("%Y-%m-%d %H:%M:%E3S UTC", time, absl::UTCTimeZone())});
    } else if (value.is_array()) {
      bool first = true;
      for (const ordered_json& element : value) {
        table->Add({first ? name : "", ElementText(key, element)});
        first = false;
      }
    } else {
      table->Add({name, OneLine(value)});
    }
  }
}

double BytesPerEvent(const TraceSummary& summary) {
  return summary.events == 0 ? 0 : static_cast<double>(summary.file_bytes) / static_cast<double>(summary.events);
}

}  // namespace

std::string HealthText(const TraceHealth& health) {
  if (health.complete) return "complete";
  if (health.lost_events == 0) return absl::StrCat("complete up to event ", Grouped(health.last_event));
  return absl::StrCat("damaged: ", Grouped(health.lost_events), " events lost, the last that is there is number ",
                      Grouped(health.last_event));
}

std::string TraceSummaryText(const TraceSummary& summary) {
  std::string text = Printable(summary.path) + "\n";

  TextTable facts("ll");
  facts.Add({"health", HealthText(summary.health)});
  for (const std::string& problem : summary.health.problems) facts.Add({"", Printable(problem)});
  facts.Add({"events", Grouped(summary.events)});
  facts.Add({"threads", Grouped(summary.threads)});
  if (summary.duration_ns != 0) {
    facts.Add({"duration", absl::StrFormat("%.3f s", static_cast<double>(summary.duration_ns) / 1e9)});
  }
  facts.Add({"file", absl::StrFormat("%s bytes, %.2f an event", Grouped(summary.file_bytes), BytesPerEvent(summary))});
  if (summary.memory_samples != 0) {
    facts.Add({"resident", absl::StrFormat("%s MB at most, by %s", Megabytes(summary.peak_resident_bytes),
                                           Counted(summary.memory_samples, "sample"))});
  }
  text += facts.Render();
  if (const std::string note = PythonNote(summary.header); !note.empty()) absl::StrAppend(&text, "\nnote: ", note, "\n");

  text += "\nrecording\n";
  TextTable identity("ll");
  AddFields(MessageJson(summary.header), &identity);
  if (!summary.footer.end().empty()) identity.Add({"end", Printable(summary.footer.end())});
  text += identity.Render();

  if (summary.events == 0) return text;
  text += "\ncalls\n";
  std::vector<size_t> kinds(kEventKinds);
  std::iota(kinds.begin(), kinds.end(), size_t{0});
  std::stable_sort(kinds.begin(), kinds.end(), [&summary](size_t a, size_t b) {
    return summary.events_of_kind[a] > summary.events_of_kind[b];
  });
  TextTable calls("rrl");
  calls.Add({"events", "%", ""});
  for (const size_t kind : kinds) {
    const uint64_t count = summary.events_of_kind[kind];
    if (count == 0) continue;
    const double share = 100.0 * static_cast<double>(count) / static_cast<double>(summary.events);
    calls.Add({Grouped(count), absl::StrFormat("%.1f", share), EventName(static_cast<EventKind>(kind))});
  }
  calls.Add({absl::StrCat("= ", Grouped(summary.events)), "100.0", ""});
  return text + calls.Render();
}

std::string TraceSummaryJson(const TraceSummary& summary) {
  ordered_json calls = ordered_json::object();
  for (size_t kind = 0; kind < summary.events_of_kind.size(); ++kind) {
    calls[EventName(static_cast<EventKind>(kind))] = summary.events_of_kind[kind];
  }
  const auto known = [](uint64_t value) { return value != 0 ? ordered_json(value) : ordered_json(); };
  const std::string note = PythonNote(summary.header);
  const ordered_json json = {
      {"path", summary.path},
      {"events", summary.events},
      {"threads", summary.threads},
      {"complete", summary.health.complete},
      {"last_event", summary.health.last_event},
      {"lost_events", summary.health.lost_events},
      {"problems", summary.health.problems},
      {"duration_ns", known(summary.duration_ns)},
      {"file_bytes", summary.file_bytes},
      {"bytes_per_event", BytesPerEvent(summary)},
      {"memory_samples", summary.memory_samples},
      {"peak_resident_bytes", known(summary.peak_resident_bytes)},
      {"calls", calls},
      {"note", note.empty() ? ordered_json() : ordered_json(note)},
      {"header", MessageJson(summary.header)},
      {"footer", MessageJson(summary.footer)},
  };
  return JsonText(json);
}

}  // namespace heaptape
