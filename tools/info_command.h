// heaptape info: what a trace holds, who was recorded, and how whole it is.

#ifndef HEAPTAPE_TOOLS_INFO_COMMAND_H_
#define HEAPTAPE_TOOLS_INFO_COMMAND_H_

#include "tools/command_set.h"

namespace heaptape {

void AddInfoCommand(CommandSet& commands);

}  // namespace heaptape

#endif  // HEAPTAPE_TOOLS_INFO_COMMAND_H_
