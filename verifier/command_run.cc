#include "verifier/command_run.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <set>
#include <system_error>
#include <thread>
#include <utility>

#include "absl/memory/memory.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "verifier/process_facts.h"

namespace heaptape {
namespace {

volatile sig_atomic_t command_pid = 0;

// A signal for the command that reached us alone.
void Forward(int signal_number) {
  if (command_pid > 0) kill(command_pid, signal_number);
}

absl::Status WriteFile(const std::string& path, const void* bytes, size_t size) {
  const int fd = open(path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
  const bool written = fd >= 0 && write(fd, bytes, size) == static_cast<ssize_t>(size);
  const int error = errno;
  if (fd >= 0) close(fd);
  return written ? absl::OkStatus() : absl::ErrnoToStatus(error, absl::StrCat(path, ": cannot write"));
}

// Ours, with the probe before what is preloaded already.
std::vector<std::string> Environment(const std::string& probe, const std::string& directory) {
  std::vector<std::string> variables;
  std::string preload = absl::StrCat("LD_PRELOAD=", probe);
  for (char** entry = environ; *entry != nullptr; ++entry) {
    const std::string text = *entry;
    if (text.rfind("LD_PRELOAD=", 0) == 0) {
      if (text.size() > 11) absl::StrAppend(&preload, ":", text.substr(11));
    } else if (text.rfind(absl::StrCat(kVerifyVariable, "="), 0) != 0) {
      variables.push_back(text);
    }
  }
  variables.push_back(preload);
  variables.push_back(absl::StrCat(kVerifyVariable, "=", directory));
  return variables;
}

std::vector<char*> Pointers(const std::vector<std::string>& strings) {
  std::vector<char*> pointers;
  for (const std::string& string : strings) pointers.push_back(const_cast<char*>(string.c_str()));
  pointers.push_back(nullptr);
  return pointers;
}

// The processes write to their reports at any moment: a copy, whose texts end.
bool ReadReport(const std::string& path, ProbeReport* report) {
  const int fd = open(path.c_str(), O_RDONLY | O_NOFOLLOW | O_CLOEXEC);
  if (fd < 0) return false;
  struct stat info;
  void* mapped = MAP_FAILED;
  if (fstat(fd, &info) == 0 && S_ISREG(info.st_mode) && static_cast<size_t>(info.st_size) >= sizeof(ProbeReport)) {
    mapped = mmap(nullptr, sizeof(ProbeReport), PROT_READ, MAP_SHARED, fd, 0);
  }
  close(fd);
  if (mapped == MAP_FAILED) return false;
  const auto* const shared = static_cast<const ProbeReport*>(mapped);
  // Matched by the release in probe/probe.cc.
  const bool written = __atomic_load_n(&shared->written, __ATOMIC_ACQUIRE) == 1;
  if (written) *report = *shared;
  munmap(mapped, sizeof(ProbeReport));
  for (char* text : {report->program, report->allocator, report->libc}) text[sizeof(report->program) - 1] = '\0';
  report->glibc_version[sizeof(report->glibc_version) - 1] = '\0';
  for (uint32_t* bytes : {&report->environment_bytes, &report->later_environment_bytes}) {
    *bytes = std::min(*bytes, static_cast<uint32_t>(sizeof(report->environment)));
  }
  return written;
}

}  // namespace

absl::StatusOr<std::unique_ptr<CommandRun>> CommandRun::Create(const ProbeRequest& request) {
  std::error_code error;
  std::string directory = (std::filesystem::temp_directory_path(error) / "heaptape-verify.XXXXXX").string();
  if (mkdtemp(directory.data()) == nullptr) {
    return absl::ErrnoToStatus(errno, absl::StrCat(directory, ": cannot make a session directory"));
  }
  std::unique_ptr<CommandRun> run = absl::WrapUnique(new CommandRun(directory));
  if (absl::Status status = WriteFile(directory + "/request", &request, sizeof(request)); !status.ok()) return status;
  return run;
}

CommandRun::~CommandRun() {
  std::error_code ignored;
  std::filesystem::remove_all(directory_, ignored);
}

absl::StatusOr<int> CommandRun::Run(const std::vector<std::string>& command, const std::string& probe,
                                    const std::function<void(int pid)>& look) {
  // So that daemons of the command stay below us.
  prctl(PR_SET_CHILD_SUBREAPER, 1);
  pid_t pid = 0;
  const std::vector<std::string> environment = Environment(probe, directory_);
  const int error =
      posix_spawnp(&pid, command[0].c_str(), nullptr, nullptr, Pointers(command).data(), Pointers(environment).data());
  if (error != 0) return absl::ErrnoToStatus(error, absl::StrCat(command[0], ": cannot be started"));
  command_pid = pid;
  // A terminal sends its signals to the command as well.
  signal(SIGINT, SIG_IGN);
  signal(SIGQUIT, SIG_IGN);
  signal(SIGTERM, Forward);
  signal(SIGHUP, Forward);

  using Clock = std::chrono::steady_clock;
  const Clock::time_point start = Clock::now();
  int status = 0;
  for (bool ended = false; !ended;) {
    for (int below : Descendants(getpid())) look(below);
    int child_status = 0;
    for (pid_t child; (child = waitpid(-1, &child_status, WNOHANG)) > 0;) {
      if (child != pid) continue;
      status = child_status;
      ended = true;
    }
    // Most processes that are of interest live for long; wrappers, and what they
    // start, are there at the beginning.
    const bool is_early = Clock::now() - start < std::chrono::seconds(1);
    if (!ended) std::this_thread::sleep_for(std::chrono::milliseconds(is_early ? 1 : 20));
  }
  command_pid = 0;
  return WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
}

std::vector<ProbeReport> CommandRun::Reports() const {
  std::set<int> pids;
  std::error_code error;
  for (std::filesystem::directory_iterator it(directory_, error), end; !error && it != end; it.increment(error)) {
    const std::string name = it->path().filename().string();
    int pid = 0;
    if (absl::SimpleAtoi(name.substr(0, name.find('.')), &pid)) pids.insert(pid);
  }
  std::vector<ProbeReport> reports;
  for (int pid : pids) {
    const std::vector<ProbeReport> of_process = ReportsOf(pid);
    reports.insert(reports.end(), of_process.begin(), of_process.end());
  }
  return reports;
}

std::vector<ProbeReport> CommandRun::ReportsOf(int pid) const {
  std::vector<ProbeReport> reports;
  for (int number = 0;; ++number) {
    const std::string path = absl::StrCat(directory_, "/", pid, ".", number);
    if (access(path.c_str(), F_OK) != 0) return reports;
    ProbeReport report = {};
    if (ReadReport(path, &report)) reports.push_back(report);
  }
}

}  // namespace heaptape
