#include "replayer/driver/engine_process.h"

#include <fcntl.h>
#include <signal.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/personality.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>

#include "absl/cleanup/cleanup.h"
#include "absl/strings/str_cat.h"
#include "replayer/driver/tunables.h"

namespace heaptape {

namespace {

constexpr int kSharedFd = 3;
constexpr int kRingFd = 4;
constexpr int kFirstSpareFd = 10;  // above those that the child is given
constexpr rlim_t kStackBytes = 8 << 20;

// Everything the child needs, made before the fork: between fork and exec only
// system calls are safe.
struct Launch {
  pid_t parent;
  std::vector<char*> argv, envp;
  int shared_fd, ring_fd, stderr_fd, null_fd, error_fd;
};

[[noreturn]] void RunChild(const Launch& launch) {
  const auto fail = [&] {
    const int error = errno;
    [[maybe_unused]] const ssize_t written = write(launch.error_fd, &error, sizeof(error));
    _exit(127);
  };
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  signal(SIGINT, SIG_IGN);  // Ctrl-C is for whoever started us, who then stops the engine
  if (getppid() != launch.parent) _exit(127);            // it died before that
  personality(int{PER_LINUX} | int{ADDR_NO_RANDOMIZE});  // the engine reports if this was refused
  rlimit limit;
  if (getrlimit(RLIMIT_STACK, &limit) == 0) {
    limit.rlim_cur = std::min(kStackBytes, limit.rlim_max);
    setrlimit(RLIMIT_STACK, &limit);
  }
  const rlimit no_core = {0, 0};  // of gigabytes
  setrlimit(RLIMIT_CORE, &no_core);
  if (dup2(launch.null_fd, 0) < 0 || dup2(launch.null_fd, 1) < 0 || dup2(launch.stderr_fd, 2) < 0 ||
      dup2(launch.shared_fd, kSharedFd) < 0 || dup2(launch.ring_fd, kRingFd) < 0) {
    fail();
  }
  // The rest close by themselves, as far as this program opened them.
  syscall(SYS_close_range, kRingFd + 1, ~0u, 4 /* CLOSE_RANGE_CLOEXEC */);
  execve(launch.argv[0], launch.argv.data(), launch.envp.data());
  fail();
  _exit(127);
}

int Above(int fd) { return fcntl(fd, F_DUPFD_CLOEXEC, kFirstSpareFd); }

std::vector<char*> Pointers(const std::vector<std::string>& strings) {
  std::vector<char*> pointers;
  for (const std::string& string : strings) pointers.push_back(const_cast<char*>(string.c_str()));
  pointers.push_back(nullptr);
  return pointers;
}

}  // namespace

absl::StatusOr<std::string> FindEngine() {
  if (const char* path = getenv("HEAPTAPE_ENGINE"); path != nullptr && *path != 0) {
    return std::string(path);
  }
  char program[4096];
  const ssize_t length = readlink("/proc/self/exe", program, sizeof(program) - 1);
  if (length <= 0) return absl::NotFoundError("cannot tell where this program is");
  std::string directory(program, length);
  directory.resize(directory.rfind('/'));
  std::vector<std::string> candidates = {directory + "/../libexec/heaptape/heaptape-engine"};
  for (; !directory.empty(); directory.resize(directory.rfind('/'))) {
    candidates.push_back(directory + "/replayer/engine/heaptape-engine");
  }
  for (const std::string& candidate : candidates) {
    if (access(candidate.c_str(), X_OK) == 0) return candidate;
  }
  return absl::NotFoundError(absl::StrCat("no heaptape-engine beside this program (sought as ",
                                          candidates[0], "); HEAPTAPE_ENGINE may name it"));
}

absl::StatusOr<std::unique_ptr<EngineProcess>> EngineProcess::Start(
    const std::string& path, const std::string& glibc_directory,
    const std::vector<std::string>& environment, int shared_fd, int ring_fd) {
  std::vector<std::string> arguments;
  if (!glibc_directory.empty()) {
    arguments = {LoaderPath(glibc_directory), "--library-path", glibc_directory};
  }
  arguments.insert(arguments.end(), {path, absl::StrCat(kSharedFd), absl::StrCat(kRingFd)});

  int error_pipe[2];
  if (pipe2(error_pipe, O_CLOEXEC) != 0) return absl::ErrnoToStatus(errno, "pipe");
  const int stderr_fd = memfd_create("heaptape stderr", MFD_CLOEXEC);
  const int null_fd = open("/dev/null", O_RDWR | O_CLOEXEC);
  Launch launch = {getpid(),         Pointers(arguments), Pointers(environment),
                   Above(shared_fd), Above(ring_fd),      Above(stderr_fd),
                   Above(null_fd),   Above(error_pipe[1])};
  const absl::Cleanup close_all = [&] {
    for (int fd : {launch.shared_fd, launch.ring_fd, launch.stderr_fd, launch.null_fd, null_fd,
                   error_pipe[0]}) {
      if (fd >= 0) close(fd);
    }
  };
  const pid_t pid = fork();
  if (pid == 0) RunChild(launch);
  const int fork_error = errno;
  close(launch.error_fd);
  close(error_pipe[1]);
  if (pid < 0) {
    close(stderr_fd);
    return absl::ErrnoToStatus(fork_error, "fork");
  }
  std::unique_ptr<EngineProcess> process(new EngineProcess(pid, stderr_fd));
  // Ends when exec closes the child's end.
  int error = 0;
  ssize_t got;
  while ((got = read(error_pipe[0], &error, sizeof(error))) < 0 && errno == EINTR) {
  }
  if (got > 0) {
    return absl::UnavailableError(absl::StrCat("cannot run ", arguments[0], ": ", strerror(error)));
  }
  return process;
}

EngineProcess::~EngineProcess() {
  if (!HasExited()) {
    kill(pid_, SIGKILL);
    while (waitpid(pid_, &wait_status_, 0) < 0 && errno == EINTR) {
    }
  }
  close(stderr_fd_);
}

bool EngineProcess::HasExited() {
  if (!exited_) exited_ = waitpid(pid_, &wait_status_, WNOHANG) == pid_;
  return exited_;
}

absl::Status EngineProcess::Wait() {
  while (!exited_) {
    if (waitpid(pid_, &wait_status_, 0) == pid_) {
      exited_ = true;
    } else if (errno != EINTR) {
      return absl::ErrnoToStatus(errno, "waiting for the engine");
    }
  }
  if (WIFEXITED(wait_status_) && WEXITSTATUS(wait_status_) == 0) return absl::OkStatus();
  std::string how = WIFSIGNALED(wait_status_)
                        ? absl::StrCat("was killed by signal ", WTERMSIG(wait_status_), " (",
                                       strsignal(WTERMSIG(wait_status_)), ")")
                        : absl::StrCat("exited with status ", WEXITSTATUS(wait_status_));
  const std::string words = LastWords();
  if (!words.empty()) absl::StrAppend(&how, ": ", words);
  return absl::InternalError(absl::StrCat("the engine ", how));
}

std::string EngineProcess::LastWords() const {
  char buffer[1024];
  const ssize_t got = pread(stderr_fd_, buffer, sizeof(buffer), 0);
  std::string words(buffer, std::max<ssize_t>(got, 0));
  while (!words.empty() && words.back() == '\n') words.pop_back();
  std::replace(words.begin(), words.end(), '\n', ' ');
  return words;
}

}  // namespace heaptape
