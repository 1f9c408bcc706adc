// Running a program in a test, to its end.
//
// Mainland, tests alone.

#ifndef HEAPTAPE_TESTDATA_RUN_PROGRAM_H_
#define HEAPTAPE_TESTDATA_RUN_PROGRAM_H_

#include <string>
#include <vector>

namespace heaptape {

struct ProgramResult {
  int exit_code = -1;  // 128 + signal if it was killed
  std::string out;     // standard output
  std::string error;   // standard error
};

// `environment` entries are NAME=VALUE and come on top of the test's own. The
// program is searched in PATH if its name has no slash.
ProgramResult RunProgram(const std::vector<std::string>& command, const std::vector<std::string>& environment = {});

// An empty directory of this test alone, removed with the test's other files.
std::string MakeTestDirectory(const std::string& name);

}  // namespace heaptape

#endif  // HEAPTAPE_TESTDATA_RUN_PROGRAM_H_
