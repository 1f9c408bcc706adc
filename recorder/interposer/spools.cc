#include "recorder/interposer/spools.h"

#include <errno.h>

#include "recorder/interposer/log.h"
#include "recorder/raw/syscall.h"
#include "recorder/raw/text.h"

namespace heaptape {
namespace {

using wire::Segment;
using wire::SegmentControl;
using wire::SegmentState;
using wire::Spool;

constexpr uint64_t kCollectorTimeoutNs = 2'000'000'000;
constexpr long kWaitUs = 200;
constexpr long kPopulateWrite = 23;  // MADV_POPULATE_WRITE, which old headers lack

const char* directory;
wire::SessionConfig config;
Spool* spools[wire::kMaxSpools];  // null: not there yet, or could not be made
uint32_t next_spool;
uint32_t last_taken;  // the spool in which a segment was found last
uint32_t adders;  // threads, or handlers, that are adding one now
uint64_t spool_bytes;

uint64_t last_heartbeat;     // 0: none yet
uint64_t last_heartbeat_ns;  // or when we began to expect one

// Whether the collector has done something lately.
bool CollectorAlive(const wire::Control* control) {
  const uint64_t now = raw::MonotonicNs();
  const uint64_t heartbeat = __atomic_load_n(&control->heartbeat, __ATOMIC_RELAXED);
  if (heartbeat != __atomic_load_n(&last_heartbeat, __ATOMIC_RELAXED)) {
    __atomic_store_n(&last_heartbeat, heartbeat, __ATOMIC_RELAXED);
    __atomic_store_n(&last_heartbeat_ns, now, __ATOMIC_RELAXED);
  }
  if (heartbeat == 0 && config.collector_expected == 0) return false;
  return now - __atomic_load_n(&last_heartbeat_ns, __ATOMIC_RELAXED) < kCollectorTimeoutNs;
}

SegmentControl* ControlOf(const Segment* segment) { return &spools[segment->spool]->segments[segment->index]; }

bool Change(SegmentControl* control, SegmentState from, SegmentState to) {
  uint32_t expected = static_cast<uint32_t>(from);
  return __atomic_compare_exchange_n(&control->state, &expected, static_cast<uint32_t>(to), false, __ATOMIC_ACQ_REL,
                                     __ATOMIC_RELAXED);
}

// A free segment, now taken. Tells whether any waits for the collector. The search goes on
// where the last one ended: without a collector, all that lies before is full.
Segment* TakeFree(wire::Control* control, bool* any_full) {
  *any_full = false;
  const uint32_t count = __atomic_load_n(&control->spool_count, __ATOMIC_ACQUIRE);
  const uint32_t from = __atomic_load_n(&last_taken, __ATOMIC_RELAXED);
  for (uint32_t n = 0; n < count; ++n) {
    const uint32_t i = (from + n) % count;
    Spool* const spool = __atomic_load_n(&spools[i], __ATOMIC_ACQUIRE);
    if (spool == nullptr) continue;
    for (uint32_t j = 0; j < wire::SpoolSegments(i); ++j) {
      const uint32_t state = __atomic_load_n(&spool->segments[j].state, __ATOMIC_RELAXED);
      if (state == static_cast<uint32_t>(SegmentState::kFull)) *any_full = true;
      if (state != static_cast<uint32_t>(SegmentState::kFree)) continue;
      if (Change(&spool->segments[j], SegmentState::kFree, SegmentState::kTaken)) {
        __atomic_store_n(&last_taken, i, __ATOMIC_RELAXED);
        return reinterpret_cast<Segment*>(spool) + 1 + j;
      }
    }
  }
  return nullptr;
}

void Stop(wire::Control* control, wire::StopReason reason) {
  control->stop_reason = static_cast<uint32_t>(reason);
  __atomic_store_n(&control->recording_state, static_cast<uint32_t>(wire::RecordingState::kStopped), __ATOMIC_RELEASE);
  __atomic_store_n(&gate->closed, 1, __ATOMIC_RELEASE);
  gate->control = nullptr;
}

}  // namespace

void OpenSpools(const char* own_directory, const wire::SessionConfig& own_config) {
  directory = own_directory;
  config = own_config;
  for (uint32_t i = 0; i < next_spool && i < wire::kMaxSpools; ++i) {
    if (spools[i] != nullptr) raw::Unmap(spools[i], wire::SpoolBytes(i));
    spools[i] = nullptr;
  }
  next_spool = 0;
  last_taken = 0;
  adders = 0;
  spool_bytes = 0;
  last_heartbeat = 0;
  last_heartbeat_ns = raw::MonotonicNs();
}

// The first spool is enough for a program that makes few calls, which would not use most of it.
static bool IsFilledAhead(uint32_t index) { return index > 0; }

// Fills a spool's file with zeros ahead of use. One write of many pages costs a
// quarter of the page faults that the stores of calls would meet one by one. Of 16 pages:
// kernels from 6.16 on make what is written at once one folio, and where mappings are not
// aligned to that, each page's first store then costs what the whole folio does.
static bool WriteZeros(int fd, uint64_t bytes) {
  static const char zeros[64 << 10] = {};
  for (uint64_t done = 0; done < bytes;) {
    const long n = raw::Write(fd, zeros, sizeof zeros);
    if (n == -EINTR) continue;
    if (n <= 0) return false;
    done += static_cast<uint64_t>(n);
  }
  return true;
}

// The trace grows on the same disk, as may what the program itself writes: they are left
// as much as a spool takes. Others who add one now may count on the same free bytes.
static bool DiskHasRoom(int fd, uint32_t index, uint32_t adding) {
  return index == 0 || raw::FreeBytes(fd) / wire::SpoolBytes(index) > adding;
}

// A descriptor of the spool's file, in which all space is set aside; negative if there is no
// room. A file that is there already is one that the collector has made ahead, whole.
static int OpenSpool(const char* path, uint32_t index, uint32_t adding) {
  const int fd = raw::Open(path, O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
  if (fd == -EEXIST) return raw::Open(path, O_RDWR | O_NOFOLLOW | O_CLOEXEC);
  if (fd < 0) return fd;
  if (DiskHasRoom(fd, index, adding) && raw::Allocate(fd, wire::SpoolBytes(index)) == 0 &&
      (!IsFilledAhead(index) || WriteZeros(fd, wire::SpoolBytes(index)))) {
    return fd;
  }
  raw::Close(fd);
  raw::Unlink(path);
  return -1;
}

static bool MakeSpool(wire::Control* control, uint32_t index, uint32_t adding) {
  const uint64_t bytes = wire::SpoolBytes(index);
  raw::Text<512> path;
  path.Add(directory).Add("/spool.").AddNumber(index);
  const int fd = OpenSpool(path.c_str(), index, adding);
  if (fd < 0) return false;
  // Reserved with room to align, since a segment is found from an address in it.
  char* const reserved = static_cast<char*>(raw::Map(nullptr, bytes + wire::kSegmentBytes, PROT_NONE,
                                                     MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1));
  char* mapped = nullptr;
  if (reserved != nullptr) {
    const uint64_t gap = -reinterpret_cast<uintptr_t>(reserved) % wire::kSegmentBytes;
    mapped = static_cast<char*>(
        raw::Map(reserved + gap, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_FIXED, fd));
    if (gap != 0) raw::Unmap(reserved, gap);
    raw::Unmap(reserved + gap + bytes, wire::kSegmentBytes - gap);
    if (mapped == nullptr) raw::Unmap(reserved + gap, bytes);
  }
  raw::Close(fd);
  if (mapped != nullptr && IsFilledAhead(index)) {
    // An old kernel (before 5.14) refuses, and the pages come one by one.
    raw::Syscall(SYS_madvise, raw::Word(mapped), static_cast<long>(bytes), kPopulateWrite);
  }
  if (mapped == nullptr) {
    raw::Unlink(path.c_str());
    return false;
  }
  Segment* const segments = reinterpret_cast<Segment*>(mapped) + 1;
  for (uint32_t i = 0; i < wire::SpoolSegments(index); ++i) {
    segments[i].spool = index;
    segments[i].index = i;
  }
  __atomic_fetch_add(&spool_bytes, bytes, __ATOMIC_RELAXED);
  __atomic_store_n(&spools[index], reinterpret_cast<Spool*>(mapped), __ATOMIC_RELEASE);
  uint32_t count = __atomic_load_n(&control->spool_count, __ATOMIC_RELAXED);
  while (count < index + 1 && !__atomic_compare_exchange_n(&control->spool_count, &count, index + 1, false,
                                                           __ATOMIC_RELEASE, __ATOMIC_RELAXED)) {
  }
  return true;
}

bool AddSpool(wire::Control* control) {
  const uint32_t adding = __atomic_add_fetch(&adders, 1, __ATOMIC_RELAXED);
  const uint32_t index = __atomic_fetch_add(&next_spool, 1, __ATOMIC_RELAXED);
  const bool made = index < wire::kMaxSpools && MakeSpool(control, index, adding);
  if (!made) {
    // The number goes back, unless somebody has a later one: who tries again and again on a
    // full disk would use them all up.
    uint32_t next = index + 1;
    __atomic_compare_exchange_n(&next_spool, &next, index, false, __ATOMIC_RELAXED, __ATOMIC_RELAXED);
  }
  __atomic_sub_fetch(&adders, 1, __ATOMIC_RELAXED);
  return made;
}

Segment* TakeSegment(wire::Control* control) {
  bool waited = false;
  while (gate->closed == 0) {
    bool any_full;
    if (Segment* const segment = TakeFree(control, &any_full)) return segment;
    const uint64_t bytes = __atomic_load_n(&spool_bytes, __ATOMIC_RELAXED);
    const bool alive = CollectorAlive(control);
    // Where no segment waits for the collector, every one has a thread, and
    // waiting would be for nothing.
    const uint64_t limit = alive && any_full ? config.buffer_bytes : config.max_bytes;
    if (bytes < limit && AddSpool(control)) continue;
    if (!alive) {
      Stop(control, bytes < limit ? wire::StopReason::kNoSpace : wire::StopReason::kMaxSize);
      return nullptr;
    }
    if (config.on_full == wire::OnFull::kDrop) return nullptr;
    if (!waited) __atomic_fetch_add(&control->waits, 1, __ATOMIC_RELAXED);
    waited = true;
    raw::SleepMicroseconds(kWaitUs);
  }
  return nullptr;
}

void FillSegment(Segment* segment, uint32_t limit) {
  SegmentControl* const control = ControlOf(segment);
  control->limit = limit;
  Change(control, SegmentState::kTaken, SegmentState::kFull);
}

}  // namespace heaptape
