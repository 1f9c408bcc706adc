// heaptape report: everything about a trace, for a ticket.
//
// Mainland, above everything.

#ifndef HEAPTAPE_TOOLS_REPORT_COMMAND_H_
#define HEAPTAPE_TOOLS_REPORT_COMMAND_H_

#include "tools/command_set.h"

namespace heaptape {

void AddReportCommand(CommandSet& commands);

}  // namespace heaptape

#endif  // HEAPTAPE_TOOLS_REPORT_COMMAND_H_
