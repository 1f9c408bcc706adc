// heaptape cat: the events of a trace as lines of text.

#ifndef HEAPTAPE_TOOLS_CAT_COMMAND_H_
#define HEAPTAPE_TOOLS_CAT_COMMAND_H_

#include "tools/command_set.h"

namespace heaptape {

void AddCatCommand(CommandSet& commands);

}  // namespace heaptape

#endif  // HEAPTAPE_TOOLS_CAT_COMMAND_H_
