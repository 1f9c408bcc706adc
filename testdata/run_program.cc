#include "testdata/run_program.h"

#include <fcntl.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <sstream>

namespace heaptape {
namespace {

std::string Contents(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  std::stringstream text;
  text << file.rdbuf();
  return text.str();
}

std::string TestRoot() {
  const char* const root = getenv("TEST_TMPDIR");
  return root != nullptr ? root : "/tmp";
}

}  // namespace

ProgramResult RunProgram(const std::vector<std::string>& command, const std::vector<std::string>& environment) {
  const std::string directory = MakeTestDirectory("output");
  const std::string out = directory + "/out", error = directory + "/error";
  const pid_t pid = fork();
  if (pid == 0) {
    dup2(open("/dev/null", O_RDONLY), 0);
    dup2(open(out.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600), 1);
    dup2(open(error.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600), 2);
    for (const std::string& entry : environment) putenv(const_cast<char*>(entry.c_str()));
    std::vector<char*> arguments;
    for (const std::string& argument : command) arguments.push_back(const_cast<char*>(argument.c_str()));
    arguments.push_back(nullptr);
    execvp(arguments[0], arguments.data());
    _exit(127);
  }
  ProgramResult result;
  int status = 0;
  if (pid > 0 && waitpid(pid, &status, 0) == pid) {
    result.exit_code = WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
  }
  result.out = Contents(out);
  result.error = Contents(error);
  std::filesystem::remove_all(directory);
  return result;
}

std::string MakeTestDirectory(const std::string& name) {
  std::string path = TestRoot() + "/" + name + ".XXXXXX";
  return mkdtemp(path.data()) == nullptr ? "" : path;
}

}  // namespace heaptape
