#include "analysis/trace_summary.h"

#include <algorithm>
#include <vector>

namespace heaptape {

absl::StatusOr<TraceSummary> Summarize(const std::string& path, TraceReader* reader) {
  TraceSummary summary;
  summary.path = path;
  summary.header = reader->header();
  summary.file_bytes = reader->file_bytes();

  uint64_t first_ns = ~uint64_t{0};
  uint64_t last_ns = 0;
  const auto see_time = [&](uint64_t time_ns) {
    if (time_ns == 0) return;
    first_ns = std::min(first_ns, time_ns);
    last_ns = std::max(last_ns, time_ns);
  };

  std::vector<Event> events;
  while (true) {
    const absl::StatusOr<bool> more = reader->Next(&events);
    if (!more.ok()) return more.status();
    if (!*more) break;
    summary.events += events.size();
    see_time(reader->batch_time_ns());
    for (const Event& event : events) {
      ++summary.events_of_kind[static_cast<size_t>(event.kind)];
      summary.threads = std::max<uint64_t>(summary.threads, event.thread + 1);
    }
  }

  for (const MemorySample& sample : reader->memory_samples()) {
    see_time(sample.time_ns());
    summary.peak_resident_bytes = std::max<uint64_t>(summary.peak_resident_bytes, sample.resident_bytes());
  }
  summary.memory_samples = reader->memory_samples().size();
  if (first_ns < last_ns) summary.duration_ns = last_ns - first_ns;
  summary.footer = reader->footer();
  summary.health = reader->health();
  return summary;
}

}  // namespace heaptape
