// `heaptape verify`: are settings in force, and if not, why not?
//
// Mainland, above everything. Main thread alone.

#ifndef HEAPTAPE_TOOLS_VERIFY_COMMAND_H_
#define HEAPTAPE_TOOLS_VERIFY_COMMAND_H_

#include "tools/command_set.h"

namespace heaptape {

void AddVerifyCommand(CommandSet& commands);

}  // namespace heaptape

#endif  // HEAPTAPE_TOOLS_VERIFY_COMMAND_H_
