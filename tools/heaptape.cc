// heaptape: the command. Each subcommand is a file of its own.

#include "tools/cat_command.h"
#include "tools/collect_command.h"
#include "tools/command_set.h"
#include "tools/compact_command.h"
#include "tools/diff_command.h"
#include "tools/growth_command.h"
#include "tools/holes_command.h"
#include "tools/import_command.h"
#include "tools/info_command.h"
#include "tools/lifetimes_command.h"
#include "tools/record_command.h"
#include "tools/replay_command.h"
#include "tools/report_command.h"
#include "tools/sweep_command.h"
#include "tools/timeline_command.h"
#include "tools/verify_command.h"

int main(int argc, char** argv) {
  heaptape::CommandSet commands;
  heaptape::AddRecordCommand(commands);
  heaptape::AddCollectCommand(commands);
  heaptape::AddReplayCommand(commands);
  heaptape::AddHolesCommand(commands);
  heaptape::AddGrowthCommand(commands);
  heaptape::AddLifetimesCommand(commands);
  heaptape::AddReportCommand(commands);
  heaptape::AddTimelineCommand(commands);
  heaptape::AddSweepCommand(commands);
  heaptape::AddDiffCommand(commands);
  heaptape::AddVerifyCommand(commands);
  heaptape::AddInfoCommand(commands);
  heaptape::AddCatCommand(commands);
  heaptape::AddCompactCommand(commands);
  heaptape::AddImportCommand(commands);
  return commands.Main(argc, argv);
}
