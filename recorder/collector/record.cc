#include "recorder/collector/record.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <system_error>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "recorder/collector/collector.h"
#include "recorder/collector/proc_text.h"

namespace heaptape {
namespace {

volatile sig_atomic_t child_pid = 0;

// A signal for the command that reached us alone.
void Forward(int signal_number) {
  if (child_pid > 0) kill(child_pid, signal_number);
}

// The session lies where the traces go: there is room for them, and whoever
// finds one left behind finds the other.
absl::StatusOr<std::string> MakeSession(const std::string& pattern, const wire::SessionConfig& config) {
  std::error_code error;
  const std::filesystem::path directory = std::filesystem::absolute(pattern, error).parent_path();
  std::string name = (directory / "heaptape-session.XXXXXX").string();
  if (mkdtemp(name.data()) == nullptr) {
    return absl::ErrnoToStatus(errno, absl::StrCat(directory.string(), ": cannot make a session directory"));
  }
  const int fd = open((name + "/config").c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
  const bool written = fd >= 0 && write(fd, &config, sizeof config) == static_cast<ssize_t>(sizeof config);
  const int saved = errno;
  if (fd >= 0) close(fd);
  if (!written) return absl::ErrnoToStatus(saved, absl::StrCat(name, ": cannot write"));
  return name;
}

// Ours first, so that another preloaded allocator is behind us.
void SetEnvironment(const std::string& session, const std::string& interposer) {
  const char* const preload = getenv("LD_PRELOAD");
  const std::string entries =
      preload == nullptr || *preload == '\0' ? interposer : absl::StrCat(interposer, ":", preload);
  setenv("LD_PRELOAD", entries.c_str(), 1);
  // The "/." keeps a latecomer from making the directory anew when it is gone.
  setenv(wire::kSessionVariable, (session + "/.").c_str(), 1);
}

// Starts the command; execvp's errno comes back through a pipe.
absl::StatusOr<pid_t> Start(const RecordOptions& options, const std::string& session) {
  int ends[2];
  if (pipe2(ends, O_CLOEXEC) != 0) return absl::ErrnoToStatus(errno, "pipe");
  const pid_t pid = fork();
  if (pid < 0) return absl::ErrnoToStatus(errno, "fork");
  if (pid == 0) {
    SetEnvironment(session, options.interposer);
    std::vector<char*> arguments;
    for (const std::string& argument : options.command) arguments.push_back(const_cast<char*>(argument.c_str()));
    arguments.push_back(nullptr);
    execvp(arguments[0], arguments.data());
    const int error = errno;
    [[maybe_unused]] const ssize_t n = write(ends[1], &error, sizeof error);
    _exit(127);
  }
  close(ends[1]);
  int error = 0;
  const ssize_t n = read(ends[0], &error, sizeof error);
  close(ends[0]);
  if (n != static_cast<ssize_t>(sizeof error)) return pid;
  waitpid(pid, nullptr, 0);
  return absl::ErrnoToStatus(error, absl::StrCat(options.command[0], ": cannot be started"));
}

// Processes of the session that live, as their environment says: a daemon that has just
// been forked may not have allocated yet, so that nothing else tells of it.
size_t ProcessesOf(const std::string& session, const RecordOptions& options) {
  if (options.config.follow == wire::Follow::kNone) return 0;  // they are not recorded
  const std::string in_session = absl::StrCat(wire::kSessionVariable, "=", session, "/.");
  size_t processes = 0;
  std::error_code error;
  for (const auto& entry : std::filesystem::directory_iterator("/proc", error)) {
    const std::string name = entry.path().filename().string();
    if (name.find_first_not_of("0123456789") != std::string::npos) continue;
    const std::string environment = ReadText(absl::StrCat("/proc/", name, "/environ"));
    // The next variable, or the end, is behind a zero.
    if (absl::StrContains(environment, absl::StrCat(in_session, absl::string_view("\0", 1))) &&
        absl::StrContains(environment, options.interposer)) {
      ++processes;
    }
  }
  return processes;
}

// Goes on for processes that outlive the command: daemons, background jobs. In a
// process of its own, without our terminal and pipes, so that nobody waits for it.
void CollectInBackground(Collector* collector, const std::string& session, const RecordOptions& options) {
  if (fork() != 0) return;
  setsid();
  const int null = open("/dev/null", O_RDWR);
  for (int fd = 0; fd < 3 && null >= 0; ++fd) dup2(null, fd);
  for (bool over = false; !over;) {
    // Who was last seen to live may have ended since, and have left an image.
    const bool quiet = collector->running() == 0 && ProcessesOf(session, options) == 0;
    if (quiet) collector->ScanNow();
    collector->Step(/*child=*/0);
    over = quiet && collector->running() == 0;
  }
  std::error_code ignored;
  std::filesystem::remove_all(session, ignored);
  _exit(0);
}

}  // namespace

absl::StatusOr<RecordResult> Record(const RecordOptions& options) {
  const absl::StatusOr<std::string> session = MakeSession(options.pattern, options.config);
  if (!session.ok()) return session.status();
  std::error_code ignored;
  const absl::StatusOr<pid_t> child = Start(options, *session);
  if (!child.ok()) {
    std::filesystem::remove_all(*session, ignored);
    return child.status();
  }
  child_pid = *child;
  // A terminal sends its signals to the command as well; what comes from kill(1)
  // is handed on. A command that ignores them goes on, and so do we.
  signal(SIGINT, SIG_IGN);
  signal(SIGQUIT, SIG_IGN);
  signal(SIGTERM, Forward);
  signal(SIGHUP, Forward);

  RecordResult result;
  Collector collector(*session, options.pattern);
  while (true) {
    collector.Step(*child);
    const pid_t ended = waitpid(*child, &result.wait_status, WNOHANG);
    if (ended == *child) break;
    if (ended < 0 && errno != EINTR) return absl::ErrnoToStatus(errno, "waitpid");
  }
  child_pid = 0;
  collector.Finish(*child, result.wait_status);
  const size_t processes = ProcessesOf(*session, options);
  // Behind the look at processes: what has ended meanwhile has left an image.
  collector.ScanNow();
  collector.Step(/*child=*/0);
  result.recordings = collector.summaries();
  result.still_running = std::max(collector.running(), processes);
  if (result.still_running > 0) {
    CollectInBackground(&collector, *session, options);
  } else if (ListImages(*session).empty()) {
    std::filesystem::remove_all(*session, ignored);
  } else {
    result.session = *session;
  }
  return result;
}

}  // namespace heaptape
