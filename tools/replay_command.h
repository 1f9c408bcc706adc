// heaptape replay: a trace once more, under other settings.

#ifndef HEAPTAPE_TOOLS_REPLAY_COMMAND_H_
#define HEAPTAPE_TOOLS_REPLAY_COMMAND_H_

#include "tools/command_set.h"

namespace heaptape {

void AddReplayCommand(CommandSet& commands);

}  // namespace heaptape

#endif  // HEAPTAPE_TOOLS_REPLAY_COMMAND_H_
