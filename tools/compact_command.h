// heaptape compact: a trace anew, without addresses, small.

#ifndef HEAPTAPE_TOOLS_COMPACT_COMMAND_H_
#define HEAPTAPE_TOOLS_COMPACT_COMMAND_H_

#include "tools/command_set.h"

namespace heaptape {

void AddCompactCommand(CommandSet& commands);

}  // namespace heaptape

#endif  // HEAPTAPE_TOOLS_COMPACT_COMMAND_H_
