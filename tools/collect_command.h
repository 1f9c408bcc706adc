// heaptape collect: makes traces of what recorded programs have left behind.

#ifndef HEAPTAPE_TOOLS_COLLECT_COMMAND_H_
#define HEAPTAPE_TOOLS_COLLECT_COMMAND_H_

#include "tools/command_set.h"

namespace heaptape {

void AddCollectCommand(CommandSet& commands);

}  // namespace heaptape

#endif  // HEAPTAPE_TOOLS_COLLECT_COMMAND_H_
