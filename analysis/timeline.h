// Timeline: the heap over events, and what the recorded program's memory was then.
//
// Mainland. Plain values.

#ifndef HEAPTAPE_ANALYSIS_TIMELINE_H_
#define HEAPTAPE_ANALYSIS_TIMELINE_H_

#include <cstdint>
#include <string>
#include <vector>

#include "nlohmann/json.hpp"
#include "replayer/driver/replay_result.h"

namespace heaptape {

// Read from the recorded program's /proc while it ran.
struct RecordedMemory {
  uint64_t event = 0;
  uint64_t resident_bytes = 0;
};

struct Timeline {
  std::vector<TimelinePoint> points;     // of the replay, by event
  std::vector<RecordedMemory> recorded;  // by event; empty if the trace has none
};

// At most `points` of each, evenly spread, the first and the last among them; and
// those where system bytes are largest.
Timeline Thinned(const Timeline& timeline, size_t points);

// The last figure recorded at or before `event`; 0 if there is none.
uint64_t RecordedAt(const Timeline& timeline, uint64_t event);

// One line a point behind a heading, comma-separated.
std::string TimelineCsv(const Timeline& timeline);
nlohmann::ordered_json TimelineJson(const Timeline& timeline);
// Lines of characters, `width` wide: bytes upwards, events to the right.
std::string TimelineChart(const Timeline& timeline, size_t width, size_t height);

}  // namespace heaptape

#endif  // HEAPTAPE_ANALYSIS_TIMELINE_H_
