// Events that no program made: a consistent, reproducible mixture of every kind,
// by which codecs and compilers are tested against simpler models.

#ifndef HEAPTAPE_PROTO_RANDOM_EVENTS_H_
#define HEAPTAPE_PROTO_RANDOM_EVENTS_H_

#include <cstdint>
#include <vector>

#include "proto/event.h"

namespace heaptape {

struct RandomEventsOptions {
  uint64_t seed = 1;
  uint32_t count = 10000;
  uint32_t threads = 3;
  uint32_t live_target = 300;   // about so many blocks live at once
  uint64_t max_size = 2000;
  bool every_kind = true;       // otherwise malloc and free alone
};

// No address is handed out while it is live; addresses of freed blocks are
// reused last-in-first-out by size, as a thread cache would.
std::vector<Event> RandomEvents(const RandomEventsOptions& options);

}  // namespace heaptape

#endif  // HEAPTAPE_PROTO_RANDOM_EVENTS_H_
