// heaptape growth: when the heap grew, and why no hole could serve.
//
// Mainland, above everything.

#ifndef HEAPTAPE_TOOLS_GROWTH_COMMAND_H_
#define HEAPTAPE_TOOLS_GROWTH_COMMAND_H_

#include "tools/command_set.h"

namespace heaptape {

void AddGrowthCommand(CommandSet& commands);

}  // namespace heaptape

#endif  // HEAPTAPE_TOOLS_GROWTH_COMMAND_H_
