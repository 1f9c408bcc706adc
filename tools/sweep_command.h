// heaptape sweep: one trace under many settings.

#ifndef HEAPTAPE_TOOLS_SWEEP_COMMAND_H_
#define HEAPTAPE_TOOLS_SWEEP_COMMAND_H_

#include "tools/command_set.h"

namespace heaptape {

void AddSweepCommand(CommandSet& commands);

}  // namespace heaptape

#endif  // HEAPTAPE_TOOLS_SWEEP_COMMAND_H_
