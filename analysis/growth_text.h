// The report of `heaptape growth` to read, and to paste into a ticket.
//
// Mainland. Thread-safe.

#ifndef HEAPTAPE_ANALYSIS_GROWTH_TEXT_H_
#define HEAPTAPE_ANALYSIS_GROWTH_TEXT_H_

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "analysis/growth.h"

namespace heaptape {

std::string GrowthText(const GrowthReport& report);

// "realloc(8880819)", as `heaptape cat` writes it; "?" where the trace has no such call.
std::string CallText(const Event& call);

// "brk heap", "arena heap", "mapping", ...: what grew.
std::string GrewText(const GrowthStep& step);

// The lines of a reason, without its table: what was asked for and what was there.
std::vector<std::string> ReasonLines(const GrowthReason& reason);

// What a call of a story did, and when: {"232 bytes are placed 13 bytes behind it", ...}.
std::string StoryLine(const StoryCall& call, const HoleStory& story);

// One sentence: which block, by how much, since when. Empty without a story.
std::string StorySummary(const GrowthReason& reason);

}  // namespace heaptape

#endif  // HEAPTAPE_ANALYSIS_GROWTH_TEXT_H_
