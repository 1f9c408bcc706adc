// HoleStory: the calls that made a hole, and those that closed it in.
//
// Mainland. Reads the trace once; memory grows with the blocks that are asked about
// and with the large ones that are live.
//
//   |   a buffer   |pin|        the pin is placed behind a buffer,
//   |     hole     |pin|        the buffer goes, the pin stays,
//   |  too short   |pin|  ...   and what comes later is larger than the buffer was.

#ifndef HEAPTAPE_ANALYSIS_HOLE_STORY_H_
#define HEAPTAPE_ANALYSIS_HOLE_STORY_H_

#include <cstddef>
#include <cstdint>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "proto/event.h"
#include "replayer/driver/event_source.h"
#include "replayer/driver/replay_result.h"

namespace heaptape {

struct StoryCall {
  enum class Role {
    kMade,      // a block that lay in the hole when the pin was placed
    kPinned,    // the pin is placed
    kGone,      // a block that lay in the hole is freed, or moves
    kOnTheWay,  // a large call of the thread that made the heap grow
    kGrew,      // the heap grows
  };

  Role role = Role::kOnTheWay;
  uint64_t event = 0;
  uint32_t thread = 0;
  EventKind call = EventKind::kMalloc;
  uint64_t bytes = 0;      // asked for; of a free: of the block that it frees, 0 if not known
  uint64_t old_bytes = 0;  // of the block that a realloc moves; 0 if not known
  // kPinned: from the end of what the block before it had asked for.
  uint64_t gap_bytes = 0;

  bool operator==(const StoryCall&) const = default;
};

struct HoleStory {
  uint64_t pin_event = 0;
  uint64_t blocks_then = 0;         // that lay in the hole when the pin was placed
  uint64_t gone_event = 0;          // when the last of them went; 0: none, or not all
  std::vector<StoryCall> calls;     // by event

  bool operator==(const HoleStory&) const = default;
};

// The call at each of `events`, ascending. The old address of a realloc_end is that
// of its realloc_begin. Those that the trace does not have stay as they are made.
absl::StatusOr<std::vector<Event>> CallsAt(const EventSourceFactory& trace, absl::Span<const uint64_t> events);

// How the hole [lo, pin.address) came about, in which `growth` (event number
// `growth_event`) found no room. `then` is the replay until pin.event.
absl::StatusOr<HoleStory> TellStory(const EventSourceFactory& trace, const ReplayResult& then, uint64_t lo,
                                    const LiveBlock& pin, uint64_t growth_event, const Event& growth);

}  // namespace heaptape

#endif  // HEAPTAPE_ANALYSIS_HOLE_STORY_H_
