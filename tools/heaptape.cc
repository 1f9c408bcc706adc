// heaptape: the command. Each subcommand is a file of its own.

#include "tools/cat_command.h"
#include "tools/command_set.h"
#include "tools/import_command.h"
#include "tools/info_command.h"
#include "tools/record_command.h"

int main(int argc, char** argv) {
  heaptape::CommandSet commands;
  heaptape::AddRecordCommand(commands);
  heaptape::AddInfoCommand(commands);
  heaptape::AddCatCommand(commands);
  heaptape::AddImportCommand(commands);
  return commands.Main(argc, argv);
}
