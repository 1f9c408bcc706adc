// heaptape timeline: the heap over time.
//
// Mainland, above everything.

#ifndef HEAPTAPE_TOOLS_TIMELINE_COMMAND_H_
#define HEAPTAPE_TOOLS_TIMELINE_COMMAND_H_

#include "tools/command_set.h"

namespace heaptape {

void AddTimelineCommand(CommandSet& commands);

}  // namespace heaptape

#endif  // HEAPTAPE_TOOLS_TIMELINE_COMMAND_H_
