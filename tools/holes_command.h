// heaptape holes: the free memory that a heap cannot give back, and what pins it.

#ifndef HEAPTAPE_TOOLS_HOLES_COMMAND_H_
#define HEAPTAPE_TOOLS_HOLES_COMMAND_H_

#include "tools/command_set.h"

namespace heaptape {

void AddHolesCommand(CommandSet& commands);

}  // namespace heaptape

#endif  // HEAPTAPE_TOOLS_HOLES_COMMAND_H_
