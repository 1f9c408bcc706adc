// heaptape diff: two replays side by side.
//
// Mainland, above everything.

#ifndef HEAPTAPE_TOOLS_DIFF_COMMAND_H_
#define HEAPTAPE_TOOLS_DIFF_COMMAND_H_

#include "tools/command_set.h"

namespace heaptape {

void AddDiffCommand(CommandSet& commands);

}  // namespace heaptape

#endif  // HEAPTAPE_TOOLS_DIFF_COMMAND_H_
