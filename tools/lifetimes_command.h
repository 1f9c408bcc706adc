// heaptape lifetimes: how long blocks live, by size.
//
// Mainland, above everything.

#ifndef HEAPTAPE_TOOLS_LIFETIMES_COMMAND_H_
#define HEAPTAPE_TOOLS_LIFETIMES_COMMAND_H_

#include "tools/command_set.h"

namespace heaptape {

void AddLifetimesCommand(CommandSet& commands);

}  // namespace heaptape

#endif  // HEAPTAPE_TOOLS_LIFETIMES_COMMAND_H_
