// libheaptape-probe.so: is a setting in force in the program that it is loaded into?
//
// Island: libc only. What it does happens before the program's own code: it tries
// the settings out in a child that is gone again when the program begins, so that
// the program's heap is the one it would have had. The child is made by clone
// without a signal at its end, so that no handler and no wait() of the program ever
// sees it. Later it sees the program's calls of mallopt. It allocates nothing in the
// program, keeps errno, and prints nothing.

#include <dlfcn.h>
#include <errno.h>
#include <gnu/libc-version.h>
#include <link.h>
#include <malloc.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "recorder/raw/syscall.h"
#include "recorder/raw/text.h"
#include "replayer/engine/allocator.h"
#include "replayer/engine/setting_probe.h"
#include "verifier/probe/report.h"

namespace heaptape {
namespace {

// A probe takes a few milliseconds. It hangs if another thread, of a library that
// was set up before us, held malloc's lock when the child was made.
constexpr uint64_t kLongestProbeNs = 5'000'000'000;

int (*g_mallopt)(int, int);
ProbeReport* g_report;
ProbeRequest g_request;
uint64_t g_libc_base;
raw::Text<512> g_directory;

// By ProbedSetting.
struct SettingName {
  const char* tunable;
  const char* variable;  // that glibc knew before it had tunables, or null
};
constexpr SettingName kSettingNames[kProbedSettings] = {
    {"glibc.malloc.mmap_threshold=", "MALLOC_MMAP_THRESHOLD_="},
    {"glibc.malloc.trim_threshold=", "MALLOC_TRIM_THRESHOLD_="},
    {"glibc.malloc.top_pad=", "MALLOC_TOP_PAD_="},
    {"glibc.malloc.mmap_max=", "MALLOC_MMAP_MAX_="},
    {"glibc.malloc.arena_max=", "MALLOC_ARENA_MAX="},
    {"glibc.malloc.tcache_count=", nullptr},
    {"glibc.malloc.tcache_max=", nullptr},
    {"glibc.malloc.mxfast=", nullptr},
    {"glibc.malloc.perturb=", "MALLOC_PERTURB_="}};

void Copy(char* to, size_t capacity, const char* from) {
  strncpy(to, from, capacity - 1);
  to[capacity - 1] = '\0';
}

// A number up to the end of a setting; glibc ignores others.
bool ParseNumber(const char* text, uint64_t* value) {
  if (*text < '0' || *text > '9') return false;
  char* end;
  *value = strtoull(text, &end, 0);
  return *end == '\0' || *end == ':';
}

// GLIBC_TUNABLES wins over the older variables, and its last entry over others.
void TakeSettings(const char* entry) {
  constexpr char kTunables[] = "GLIBC_TUNABLES=";
  static bool by_tunable[kProbedSettings];
  uint64_t value;
  if (!raw::HasPrefix(entry, kTunables)) {
    for (uint32_t i = 0; i < kProbedSettings; ++i) {
      const char* const name = kSettingNames[i].variable;
      if (name == nullptr || by_tunable[i] || !raw::HasPrefix(entry, name)) continue;
      if (ParseNumber(entry + strlen(name), &value)) g_report->probes[i] = {value, 1, ProbeResult::kNotProbed};
    }
    return;
  }
  for (const char* setting = entry + strlen(kTunables); setting != nullptr; setting = strchr(setting, ':')) {
    if (*setting == ':') ++setting;
    for (uint32_t i = 0; i < kProbedSettings; ++i) {
      const char* const name = kSettingNames[i].tunable;
      if (!raw::HasPrefix(setting, name) || !ParseNumber(setting + strlen(name), &value)) continue;
      g_report->probes[i] = {value, 1, ProbeResult::kNotProbed};
      by_tunable[i] = true;
    }
  }
}

// The variables that malloc's settings may come from; how many bytes they fill.
uint32_t TakeEnvironment(char* to, size_t capacity, void (*take)(const char* entry)) {
  size_t size = 0;
  for (char** entry = environ; entry != nullptr && *entry != nullptr; ++entry) {
    if (!raw::HasPrefix(*entry, "GLIBC_TUNABLES=") && !raw::HasPrefix(*entry, "MALLOC_")) continue;
    if (take != nullptr) take(*entry);
    const size_t length = strlen(*entry) + 1;
    if (size + length > capacity) continue;
    memcpy(to + size, *entry, length);
    size += length;
  }
  return static_cast<uint32_t>(size);
}

// The object that serves malloc.
bool FindServer(Dl_info* server) {
  const ElfW(Sym)* symbol = nullptr;
  const int found = dladdr1(reinterpret_cast<void*>(malloc), server,
                            reinterpret_cast<void**>(const_cast<ElfW(Sym)**>(&symbol)), RTLD_DL_SYMENT);
  if (found == 0) return false;
  if (symbol == nullptr || symbol->st_shndx != SHN_UNDEF) return true;
  // In a program with fixed addresses, a function's is that of the program's own way
  // to it.
  void* const next = dlsym(RTLD_NEXT, "malloc");
  return next != nullptr && dladdr(next, server) != 0;
}

// Where libc is loaded; 0 unless it is the file whose layout is known.
uint64_t KnownLibcBase(const Dl_info& libc) {
  struct stat info;
  if (stat(libc.dli_fname, &info) != 0) return 0;
  if (info.st_dev != g_request.device || info.st_ino != g_request.inode) return 0;
  return reinterpret_cast<uint64_t>(libc.dli_fbase);
}

void ReadParameters(MallocParameters* parameters) {
  if (g_libc_base == 0) return;
  for (uint32_t i = 0; i < kMallocParameters; ++i) {
    if (g_request.layout.offsets[i] == 0) continue;
    const uint64_t at = g_libc_base + g_request.layout.offsets[i];
    parameters->values[i] = IsNarrow(i) ? *reinterpret_cast<const volatile uint32_t*>(at)
                                        : *reinterpret_cast<const volatile uint64_t*>(at);
  }
}

// In the child. What comes of it lies in the report, which both have mapped.
[[noreturn]] void TrySettings() {
  Allocator allocator = {};
  allocator.malloc = malloc;
  allocator.free = free;
  ProbeReport& report = *g_report;
  report.child_pid = raw::ProcessId();
  // Where memory is short, this process is the one to go.
  const int score = raw::Open("/proc/self/oom_score_adj", O_WRONLY | O_CLOEXEC);
  if (score >= 0) {
    raw::Write(score, "1000", 4);
    raw::Close(score);
  }
  // Makes malloc read its settings, and no heap yet: top_pad shows when it is made.
  mallinfo2();
  ReadParameters(&report.at_start);
  report.now = report.at_start;
  ProbeSettings(allocator, report.probes);
  report.probed = 1;
  for (;;) raw::Syscall(SYS_exit_group, 0);
}

void TrySettingsInChild() {
  const long child = raw::Syscall(SYS_clone, 0 /* no signal when it ends */);
  if (child == 0) TrySettings();
  if (child < 0) return;
  const uint64_t deadline = raw::MonotonicNs() + kLongestProbeNs;
  while (raw::Syscall(SYS_wait4, child, 0, WNOHANG | __WALL) == 0) {
    if (raw::MonotonicNs() > deadline) raw::Syscall(SYS_kill, child, SIGKILL);
    raw::SleepMicroseconds(100);
  }
}

// Makes this image's report; null if that cannot be done.
ProbeReport* MakeReport(int pid) {
  int fd = -EEXIST;
  for (uint64_t n = 0; n < 10000 && fd == -EEXIST; ++n) {
    raw::Text<600> path;
    path.Add(g_directory.c_str()).Add("/").AddNumber(static_cast<uint64_t>(pid)).Add(".").AddNumber(n);
    fd = raw::Open(path.c_str(), O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
  }
  if (fd < 0) return nullptr;
  void* mapped = nullptr;
  if (raw::Allocate(fd, sizeof(ProbeReport)) == 0) {
    mapped = raw::Map(nullptr, sizeof(ProbeReport), PROT_READ | PROT_WRITE, MAP_SHARED, fd);
  }
  raw::Close(fd);
  return static_cast<ProbeReport*>(mapped);
}

bool ReadRequest() {
  const char* const directory = getenv(kVerifyVariable);
  if (directory == nullptr) return false;
  g_directory.Add(directory);
  raw::Text<600> path;
  path.Add(directory).Add("/request");
  const int fd = raw::Open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (fd < 0) return false;
  const long got = raw::Read(fd, &g_request, sizeof(g_request));
  raw::Close(fd);
  return got == sizeof(g_request) && !g_directory.overflow();
}

void MarkWritten(ProbeReport* report) {
  // Matched by the acquire in verifier/command_reports.cc.
  __atomic_store_n(&report->written, 1, __ATOMIC_RELEASE);
}

// A child that was forked, and then changes its settings, is another process.
void FollowFork() {
  const int pid = raw::ProcessId();
  if (g_report->pid == pid) return;
  ProbeReport* const report = MakeReport(pid);
  if (report == nullptr) return;
  memcpy(reinterpret_cast<char*>(report) + sizeof(report->written),
         reinterpret_cast<const char*>(g_report) + sizeof(report->written), sizeof(*report) - sizeof(report->written));
  report->pid = pid;
  report->parent_pid = static_cast<int>(raw::Syscall(SYS_getppid));
  report->begin_ns = raw::MonotonicNs();
  MarkWritten(report);
  g_report = report;
}

[[gnu::constructor]] void Begin() {
  const int saved_errno = errno;
  if (ReadRequest()) g_report = MakeReport(raw::ProcessId());
  if (g_report != nullptr) {
    ProbeReport& report = *g_report;
    report.pid = raw::ProcessId();
    report.parent_pid = static_cast<int>(raw::Syscall(SYS_getppid));
    report.begin_ns = raw::MonotonicNs();
    raw::Syscall(SYS_readlinkat, AT_FDCWD, raw::Word("/proc/self/exe"), raw::Word(report.program),
                 sizeof(report.program) - 1);
    const int command = raw::Open("/proc/self/cmdline", O_RDONLY | O_CLOEXEC);
    if (command >= 0) {
      raw::Read(command, report.command, sizeof(report.command) - 1);
      raw::Close(command);
    }
    memcpy(report.probes, g_request.probes, sizeof(report.probes));
    report.environment_bytes = TakeEnvironment(report.environment, sizeof(report.environment), TakeSettings);
    Dl_info server, libc;
    if (FindServer(&server) && dladdr(reinterpret_cast<void*>(gnu_get_libc_version), &libc) != 0) {
      report.is_glibc = server.dli_fbase == libc.dli_fbase;
      Copy(report.allocator, sizeof(report.allocator), server.dli_fname);
      Copy(report.libc, sizeof(report.libc), libc.dli_fname);
      Copy(report.glibc_version, sizeof(report.glibc_version), gnu_get_libc_version());
      g_libc_base = KnownLibcBase(libc);
      report.parameters_known = g_libc_base != 0;
    }
    if (report.is_glibc != 0) TrySettingsInChild();
    MarkWritten(&report);
  }
  errno = saved_errno;
}

[[gnu::destructor]] void End() {
  if (g_report == nullptr || g_report->pid != raw::ProcessId()) return;
  g_report->later_environment_bytes =
      TakeEnvironment(g_report->later_environment, sizeof(g_report->later_environment), nullptr);
  g_report->ended = 1;
  if (g_report->is_glibc == 0) return;
  MallocParameters now = {};
  ReadParameters(&now);
  // A program that never called malloc has left the settings unread.
  if (now.values[kHeapStart] != 0 || g_report->mallopt_calls > 0) g_report->now = now;
}

}  // namespace
}  // namespace heaptape

extern "C" [[gnu::visibility("default")]] int mallopt(int parameter, int value) noexcept {
  using namespace heaptape;
  if (g_mallopt == nullptr) g_mallopt = reinterpret_cast<int (*)(int, int)>(dlsym(RTLD_NEXT, "mallopt"));
  if (g_mallopt == nullptr) return 0;
  const int result = g_mallopt(parameter, value);
  const int saved_errno = errno;
  if (g_report != nullptr) {
    FollowFork();
    ++g_report->mallopt_calls;
    g_report->last_parameter = parameter;
    g_report->last_value = value;
    if (g_report->is_glibc != 0) ReadParameters(&g_report->now);
  }
  errno = saved_errno;
  return result;
}
