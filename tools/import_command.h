// heaptape import: traces of other recorders, as ours.

#ifndef HEAPTAPE_TOOLS_IMPORT_COMMAND_H_
#define HEAPTAPE_TOOLS_IMPORT_COMMAND_H_

#include "tools/command_set.h"

namespace heaptape {

void AddImportCommand(CommandSet& commands);

}  // namespace heaptape

#endif  // HEAPTAPE_TOOLS_IMPORT_COMMAND_H_
