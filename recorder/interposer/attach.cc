#include "recorder/interposer/attach.h"

#include <errno.h>
#include <gnu/libc-version.h>
#include <pthread.h>
#include <stddef.h>
#include <stdint.h>
#include <unistd.h>

#include "recorder/interposer/log.h"
#include "recorder/interposer/next.h"
#include "recorder/interposer/spools.h"
#include "recorder/interposer/thread_exit.h"
#include "recorder/interposer/trap.h"
#include "recorder/raw/syscall.h"
#include "recorder/raw/text.h"
#include "recorder/wire/session.h"

namespace heaptape {

// Lets calls through to `control`.
void OpenGate(wire::Control* control);

namespace {

constexpr size_t kScratchBytes = 256 << 10;

Gate off = {nullptr, 1, 1};  // what `gate` points to where nothing is recorded
raw::Text<400> directory;
raw::Text<64> image_name;  // its last part

// Path buffers make up the frames of this file: functions that have one are not
// inlined, so that no two are on the stack at once.

// Copies of what /proc/self says at the start; the program may be gone, or may
// have changed, when the collector looks. Each ends up as a file of that name.
const char* const kCopied[] = {"cmdline", "environ", "stat", "status", "maps", "limits", "cgroup"};

// The whole of a file in /proc, as far as `capacity` goes; its length, 0 on failure.
size_t ReadFile(const char* path, char* buffer, size_t capacity) {
  const int fd = raw::Open(path, O_RDONLY | O_CLOEXEC);
  if (fd < 0) return 0;
  size_t size = 0;
  while (size < capacity) {
    const long n = raw::Read(fd, buffer + size, capacity - size);
    if (n == -EINTR) continue;
    if (n <= 0) break;
    size += static_cast<size_t>(n);
  }
  raw::Close(fd);
  return size;
}

// Value of `name` in an environment block, terminated, or null.
const char* FindVariable(const char* name, char* block, size_t size) {
  if (size == 0) return nullptr;
  block[size - 1] = '\0';
  for (size_t i = 0; i < size;) {
    const char* const entry = block + i;
    size_t length = 0;
    while (entry[length] != '\0') ++length;
    if (raw::HasPrefix(entry, name)) {
      size_t n = 0;
      while (name[n] != '\0') ++n;
      if (entry[n] == '=') return entry + n + 1;
    }
    i += length + 1;
  }
  return nullptr;
}

// The environment at exec. From the kernel, because `environ` may not be set up
// yet; from `environ` where there is no /proc.
const char* SessionFromEnvironment(char* scratch) {
  const size_t size = ReadFile("/proc/self/environ", scratch, kScratchBytes);
  if (size > 0) return FindVariable(wire::kSessionVariable, scratch, size);
  for (char** entry = environ; entry != nullptr && *entry != nullptr; ++entry) {
    size_t length = 0;
    while ((*entry)[length] != '\0') ++length;
    if (const char* value = FindVariable(wire::kSessionVariable, *entry, length + 1)) return value;
  }
  return nullptr;
}

// Field 22 of /proc/self/stat. The second may hold spaces and parentheses.
uint64_t StartTimeTicks(const char* stat, size_t size) {
  size_t i = size;
  while (i > 0 && stat[i - 1] != ')') --i;
  for (int field = 2; i < size && field < 22; ++i) field += stat[i] == ' ' ? 1 : 0;
  uint64_t ticks = 0;
  for (; i < size && stat[i] >= '0' && stat[i] <= '9'; ++i) ticks = ticks * 10 + static_cast<uint64_t>(stat[i] - '0');
  return ticks;
}

// Makes this image's own directory in the session, and sets `directory` and
// `image_name`.
bool MakeDirectory(const char* session, int pid, uint64_t start_time) {
  for (uint64_t n = 0; n < 10000; ++n) {
    image_name.Clear();
    image_name.AddNumber(static_cast<uint64_t>(pid)).Add(".").AddNumber(start_time).Add(".").AddNumber(n);
    directory.Clear();
    directory.Add(session).Add("/").Add(image_name.c_str());
    if (directory.overflow()) return false;
    const int result = raw::MakeDirectory(directory.c_str(), 0700);
    if (result == 0) return true;
    if (result != -EEXIST) return false;
  }
  return false;
}

__attribute__((noinline)) void CopyProc(const char* name, char* scratch) {
  raw::Text<64> from;
  from.Add("/proc/self/").Add(name);
  const size_t size = ReadFile(from.c_str(), scratch, kScratchBytes);
  raw::Text<512> to;
  to.Add(directory.c_str()).Add("/").Add(name);
  const int fd = raw::Open(to.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
  if (fd < 0) return;
  raw::Write(fd, scratch, size);
  raw::Close(fd);
}

__attribute__((noinline)) wire::Control* MakeControl() {
  raw::Text<512> path;
  path.Add(directory.c_str()).Add("/control");
  const int fd = raw::Open(path.c_str(), O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
  if (fd < 0) return nullptr;
  void* mapped = nullptr;
  if (raw::Allocate(fd, wire::kControlBytes) == 0) {
    mapped = raw::Map(nullptr, wire::kControlBytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd);
  }
  raw::Close(fd);
  return static_cast<wire::Control*>(mapped);
}

__attribute__((noinline)) wire::SessionConfig ReadConfig(const char* session) {
  wire::SessionConfig config, read;
  raw::Text<512> path;
  path.Add(session).Add("/config");
  if (ReadFile(path.c_str(), reinterpret_cast<char*>(&read), sizeof read) == sizeof read) {
    config = read;
    config.collector_expected = 1;
  }
  return config;
}

template <size_t N>
void CopyString(const char* from, char (&to)[N]) {
  size_t i = 0;
  for (; i + 1 < N && from[i] != '\0'; ++i) to[i] = from[i];
  to[i] = '\0';
}

// What a forked child has to know of its parent; kept up to date by the parent.
raw::Text<400> session;
wire::SessionConfig config;
wire::Control* control_in_use;  // a child's is its parent's until it has its own
uint64_t forks;
bool in_fork;  // between libc's fork handlers, hence true in the child

// A control block in the session, or null. Of `parent`, if that is not null.
wire::Control* Join(char* scratch, const char* parent) {
  const int pid = raw::ProcessId();
  const uint64_t start_time =
      StartTimeTicks(scratch, ReadFile("/proc/self/stat", scratch, kScratchBytes));
  raw::Text<64> parent_name;
  if (parent != nullptr) parent_name.Add(parent);
  if (!MakeDirectory(session.c_str(), pid, start_time)) return nullptr;
  for (const char* name : kCopied) CopyProc(name, scratch);

  wire::Control* const control = MakeControl();
  if (control == nullptr) return nullptr;
  control->pid = pid;
  control->start_time_ticks = start_time;
  timespec now = {0, 0};
  raw::Syscall(SYS_clock_gettime, CLOCK_REALTIME, raw::Word(&now));
  control->start_wall_ns = static_cast<uint64_t>(now.tv_sec) * 1000000000u + static_cast<uint64_t>(now.tv_nsec);
  CopyString(gnu_get_libc_version(), control->glibc_version);
  CopyString(NextAllocatorPath(), control->allocator);
  if (parent != nullptr) {
    CopyString(parent_name.c_str(), control->parent);
    control->parent_fork = in_fork ? forks : 0;
  }
  control->ticket = 1;
  OpenSpools(directory.c_str(), config);
  const bool room = AddSpool(control);
  if (!room) control->stop_reason = static_cast<uint32_t>(wire::StopReason::kNoSpace);
  control->recording_state =
      static_cast<uint32_t>(room ? wire::RecordingState::kRecording : wire::RecordingState::kStopped);
  __atomic_store_n(&control->magic, wire::kControlMagic, __ATOMIC_RELEASE);
  control_in_use = control;
  return room ? control : nullptr;
}

// The control block of the session that the environment names, or null.
wire::Control* JoinFromEnvironment(char* scratch) {
  const char* const found = SessionFromEnvironment(scratch);
  if (found == nullptr || found[0] != '/') return nullptr;
  session.Add(found);  // `scratch` is about to be used again
  if (session.overflow()) return nullptr;
  // Started without a collector, the directory may be ours to make. `heaptape
  // record` names its own with "/." behind, which cannot be made: when that is
  // gone, the recording is over.
  raw::MakeDirectory(session.c_str(), 0700);
  config = ReadConfig(session.c_str());
  return Join(scratch, nullptr);
}

// A page that forked children find empty; where the kernel is too old for that
// (before 4.14), one that the fork handler must empty.
Gate* MakeGate() {
  void* const page = raw::MapPrivate(4096);
  if (page == nullptr) return nullptr;
  raw::Syscall(SYS_madvise, raw::Word(page), 4096, MADV_WIPEONFORK);
  return static_cast<Gate*>(page);
}

uint32_t rejoining;  // by pid, so that a child of a child may do it again

// A forked child joins the session as an image of its own.
wire::Control* Rejoin() {
  const uint32_t pid = static_cast<uint32_t>(raw::ProcessId());
  // Its other threads, and signal handlers, go unrecorded meanwhile.
  if (__atomic_exchange_n(&rejoining, pid, __ATOMIC_ACQ_REL) == pid) return nullptr;
  wire::Control* control = nullptr;
  thread_log = ThreadLog();
  if (control_in_use != nullptr) raw::Unmap(control_in_use, wire::kControlBytes);
  control_in_use = nullptr;
  char* const scratch = config.follow == wire::Follow::kNone ? nullptr : static_cast<char*>(raw::MapPrivate(kScratchBytes));
  if (scratch != nullptr) {
    // The name of the parent's directory is overwritten by the child's.
    control = Join(scratch, image_name.c_str());
    raw::Unmap(scratch, kScratchBytes);
  }
  in_fork = false;
  if (control == nullptr) {
    __atomic_store_n(&gate->closed, 1, __ATOMIC_RELEASE);
  } else {
    OpenGate(control);
    WatchThreadExit();
  }
  return control;
}

// Removes our own entry from LD_PRELOAD, so that what this program starts runs
// without us. In place: nothing else of the environment changes.
void StopFollowing() {
  char* value = nullptr;
  for (char** entry = environ; entry != nullptr && *entry != nullptr; ++entry) {
    if (raw::HasPrefix(*entry, "LD_PRELOAD=")) value = *entry + 11;
  }
  if (value == nullptr) return;
  char* out = value;
  for (const char* in = value; *in != '\0';) {
    const char* end = in;
    const char* base = in;
    while (*end != '\0' && *end != ':' && *end != ' ') {
      if (*end == '/') base = end + 1;
      ++end;
    }
    const bool ours = raw::HasPrefix(base, "libheaptape.so") && end == base + 14;
    if (!ours && end != in) {
      if (out != value) *out++ = ':';
      while (in != end) *out++ = *in++;
    }
    in = *end == '\0' ? end : end + 1;
  }
  *out = '\0';
}

void BeforeFork() {
  if (gate->closed != 0) return;
  ++forks;
  Log(wire::LongWord(wire::Form::kFork, 0, forks));
  in_fork = true;
}
void AfterForkInParent() { in_fork = false; }
void AfterForkInChild() {
  // For kernels that do not empty the page.
  if (gate->closed != 0) return;
  gate->control = nullptr;
  gate->own = 0;
}

}  // namespace

void OpenGate(wire::Control* control) {
  // With a trap every call takes the detour, where it is counted.
  gate->own = 1;
  gate->control = config.trap_at == wire::TrapAt::kNever ? control : nullptr;
}

wire::Control* Detour(uint64_t word, uint64_t payload) {
  if (gate->own == 0) return Rejoin();
  if (config.trap_at != wire::TrapAt::kNever) CheckTrap(config, word, payload);
  return control_in_use;
}

bool Attach() {
  if (next.malloc != nullptr) return true;
  NextAllocator found;
  if (!FindNextAllocator(&found)) return false;
  // Whoever comes second, a signal handler say, goes unrecorded meanwhile.
  Gate* none = nullptr;
  const bool first =
      __atomic_compare_exchange_n(&gate, &none, &off, false, __ATOMIC_ACQ_REL, __ATOMIC_RELAXED);
  SetNextAllocator(found);
  if (!first) return true;
  if (char* const scratch = static_cast<char*>(raw::MapPrivate(kScratchBytes))) {
    Gate* own = nullptr;
    wire::Control* const control = JoinFromEnvironment(scratch);
    if (control != nullptr) own = MakeGate();
    raw::Unmap(scratch, kScratchBytes);
    if (own != nullptr) {
      own->own = 1;
      __atomic_store_n(&gate, own, __ATOMIC_RELEASE);
      OpenGate(control);
    }
  }
  return true;
}

namespace {

__attribute__((constructor)) void Constructor() {
  if (!Attach() || gate->closed != 0) return;
  OpenThreadExit();
  pthread_atfork(BeforeFork, AfterForkInParent, AfterForkInChild);
  if (config.follow == wire::Follow::kNone) StopFollowing();
}

}  // namespace
}  // namespace heaptape
