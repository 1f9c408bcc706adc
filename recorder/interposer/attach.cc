#include "recorder/interposer/attach.h"

#include <errno.h>
#include <gnu/libc-version.h>
#include <stddef.h>
#include <stdint.h>
#include <unistd.h>

#include "recorder/interposer/log.h"
#include "recorder/interposer/next.h"
#include "recorder/interposer/spools.h"
#include "recorder/interposer/thread_exit.h"
#include "recorder/raw/syscall.h"
#include "recorder/raw/text.h"
#include "recorder/wire/session.h"

namespace heaptape {
namespace {

constexpr size_t kScratchBytes = 256 << 10;

Gate off;  // what `gate` points to where nothing is recorded
raw::Text<400> directory;

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

// Makes this image's own directory in the session.
bool MakeDirectory(const char* session, int pid, uint64_t start_time) {
  for (uint64_t n = 0; n < 10000; ++n) {
    directory.Clear();
    directory.Add(session).Add("/").AddNumber(static_cast<uint64_t>(pid)).Add(".").AddNumber(start_time);
    directory.Add(".").AddNumber(n);
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
  if (ReadFile(path.c_str(), reinterpret_cast<char*>(&read), sizeof read) == sizeof read) config = read;
  return config;
}

template <size_t N>
void CopyString(const char* from, char (&to)[N]) {
  size_t i = 0;
  for (; i + 1 < N && from[i] != '\0'; ++i) to[i] = from[i];
  to[i] = '\0';
}

// The control block of a session just joined, or null.
wire::Control* Join(char* scratch) {
  const char* const found = SessionFromEnvironment(scratch);
  if (found == nullptr || found[0] != '/') return nullptr;
  raw::Text<400> session;  // `scratch` is about to be used again
  session.Add(found);
  if (session.overflow()) return nullptr;

  const int pid = raw::ProcessId();
  const uint64_t start_time =
      StartTimeTicks(scratch, ReadFile("/proc/self/stat", scratch, kScratchBytes));
  if (!MakeDirectory(session.c_str(), pid, start_time)) {
    raw::MakeDirectory(session.c_str(), 0700);  // started without a collector
    if (!MakeDirectory(session.c_str(), pid, start_time)) return nullptr;
  }
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
  control->ticket = 1;
  OpenSpools(directory.c_str(), ReadConfig(session.c_str()));
  if (!AddSpool(control)) {
    control->stop_reason = static_cast<uint32_t>(wire::StopReason::kNoSpace);
    control->recording_state = static_cast<uint32_t>(wire::RecordingState::kStopped);
    __atomic_store_n(&control->magic, wire::kControlMagic, __ATOMIC_RELEASE);
    return nullptr;
  }
  control->recording_state = static_cast<uint32_t>(wire::RecordingState::kRecording);
  __atomic_store_n(&control->magic, wire::kControlMagic, __ATOMIC_RELEASE);
  return control;
}

// A page that forked children find empty; where the kernel is too old for that
// (before 4.14), one that atfork handlers must empty.
Gate* MakeGate() {
  void* const page = raw::MapPrivate(4096);
  if (page == nullptr) return nullptr;
  raw::Syscall(SYS_madvise, raw::Word(page), 4096, MADV_WIPEONFORK);
  return static_cast<Gate*>(page);
}

uint32_t attaching;

}  // namespace

bool Attach() {
  if (gate == nullptr) {
    if (!FindNextAllocator()) return false;
    // Whoever comes second, a signal handler say, goes unrecorded meanwhile.
    if (__atomic_exchange_n(&attaching, 1, __ATOMIC_ACQ_REL) != 0) {
      Gate* none = nullptr;
      __atomic_compare_exchange_n(&gate, &none, &off, false, __ATOMIC_RELEASE, __ATOMIC_RELAXED);
      return true;
    }
    Gate* own = nullptr;
    if (char* const scratch = static_cast<char*>(raw::MapPrivate(kScratchBytes))) {
      if (wire::Control* const control = Join(scratch)) {
        own = MakeGate();
        if (own != nullptr) own->control = control;
      }
      raw::Unmap(scratch, kScratchBytes);
    }
    __atomic_store_n(&gate, own != nullptr ? own : &off, __ATOMIC_RELEASE);
  }
  return true;
}

namespace {

__attribute__((constructor)) void Constructor() {
  if (Attach() && gate->control != nullptr) OpenThreadExit();
}

}  // namespace
}  // namespace heaptape
