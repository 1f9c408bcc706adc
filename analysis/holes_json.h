// The report of `heaptape holes --format=json`. Its keys are a promise to those
// who read it by program; numbers of bytes are plain.
//
// Mainland. Thread-safe.

#ifndef HEAPTAPE_ANALYSIS_HOLES_JSON_H_
#define HEAPTAPE_ANALYSIS_HOLES_JSON_H_

#include "analysis/holes.h"
#include "nlohmann/json.hpp"

namespace heaptape {

// "before" and "pinned_by" are null where the region begins or ends; their
// "event", "requested_bytes" and "thread" are null where the block is the
// allocator's own.
nlohmann::ordered_json HolesJson(const HolesReport& report);

// One end of a hole, as above.
nlohmann::ordered_json NeighbourJson(const Neighbour& neighbour);

}  // namespace heaptape

#endif  // HEAPTAPE_ANALYSIS_HOLES_JSON_H_
