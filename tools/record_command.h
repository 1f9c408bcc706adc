// heaptape record: runs a command and records its allocations.

#ifndef HEAPTAPE_TOOLS_RECORD_COMMAND_H_
#define HEAPTAPE_TOOLS_RECORD_COMMAND_H_

#include "tools/command_set.h"

namespace heaptape {

void AddRecordCommand(CommandSet& commands);

}  // namespace heaptape

#endif  // HEAPTAPE_TOOLS_RECORD_COMMAND_H_
