// heaptape-engine: carries out a plan on the allocator under test.
//
//   heaptape-engine SHARED_FD RING_FD
//
// Island: libc only, no allocation, no stdio. Started by the driver alone; the
// two memory files are those of instruction.h. Exit status 0 whenever the shared
// header says how it went, 2 when there is none to say it in.

#include <gnu/libc-version.h>
#include <linux/futex.h>
#include <signal.h>
#include <string.h>
#include <sys/personality.h>
#include <sys/syscall.h>

#include "replayer/engine/conductor.h"
#include "replayer/engine/contents.h"
#include "replayer/engine/engine.h"
#include "replayer/engine/own_allocator.h"
#include "replayer/engine/own_pages.h"
#include "replayer/engine/own_world.h"
#include "replayer/engine/process_maps.h"
#include "replayer/engine/raw_syscall.h"
#include "replayer/engine/results.h"
#include "replayer/engine/setting_probe.h"
#include "replayer/engine/system_call_watch.h"

namespace heaptape {
namespace {

Engine g_engine;

[[noreturn]] void Exit(int status) {
  for (;;) RawSyscall(SYS_exit_group, status);
}

// The number in `text`, or -1.
int ParseFd(const char* text) {
  int fd = 0;
  for (; *text != 0; ++text) {
    if (*text < '0' || *text > '9' || fd > 100000) return -1;
    fd = fd * 10 + (*text - '0');
  }
  return fd;
}

void OnTerminate(int) { g_engine.stop = 1; }

void SetSignals() {
  const uint64_t none = 0;
  RawSyscall(SYS_rt_sigprocmask, SIG_SETMASK, &none, nullptr, sizeof(none));
  const struct {
    void (*handler)(int);
    uint64_t flags;
    void (*restorer)();
    uint64_t mask;
  } action = {OnTerminate, 0x04000000 /* SA_RESTORER */, heaptape_signal_restorer, 0};
  RawSyscall(SYS_rt_sigaction, SIGTERM, &action, nullptr, sizeof(none));
}

const char* MapShared(Engine* engine, int fd) {
  char* shared = (char*)MapOwnFile(fd, 0, kSlotsOffset, true);
  if (shared == nullptr) return "cannot map the shared memory";
  engine->shared = (SharedHeader*)shared;
  engine->own_blocks = (Slot*)(shared + kOwnBlocksOffset);
  engine->samples = (Sample*)(shared + kSamplesOffset);
  engine->regions = (Region*)(shared + kRegionsOffset);
  engine->shared_fd = fd;
  engine->slots = (Slot*)PlaceOwnFile(kSlotCapacity * sizeof(Slot));
  PrepareOwn(shared, kRegionsOffset);
  return nullptr;
}

// What a preloaded allocator mapped while it was being loaded, as near as can be
// told: ld.so's own pieces are smaller.
void AddEarlierMapping(uint64_t lo, uint64_t hi, void* calls) {
  constexpr uint64_t kSmallest = 64 << 10;
  if (hi - lo >= kSmallest) ((SystemCallLog*)calls)->AddEarlier(lo, hi);
}

// Mappings at the end, where no system call was seen: all that are new or have
// grown since the beginning.
struct MapsAtStart {
  uint64_t lo[64];
  uint32_t count;
};
MapsAtStart g_maps_at_start;

void NoteMapAtStart(uint64_t lo, uint64_t, void*) {
  if (g_maps_at_start.count < 64) g_maps_at_start.lo[g_maps_at_start.count++] = lo;
}

void AddMapAtEnd(uint64_t lo, uint64_t hi, void* calls) {
  for (uint32_t i = 0; i < g_maps_at_start.count; ++i) {
    if (g_maps_at_start.lo[i] == lo) return;
  }
  ((SystemCallLog*)calls)->AddEarlier(lo, hi);
}

const char* SetUpSystemCalls(Engine* engine) {
  RegionTable* table = (RegionTable*)MapOwn(sizeof(RegionTable));
  RegionTable::Block* blocks =
      (RegionTable::Block*)MapOwn(RegionTable::kBlockCapacity * sizeof(RegionTable::Block));
  SystemCallLog* calls = (SystemCallLog*)MapOwn(sizeof(SystemCallLog));
  if (table == nullptr || blocks == nullptr || calls == nullptr) return "no memory for tables";
  PrepareOwn(table, sizeof(*table));
  PrepareOwn(calls, sizeof(*calls));
  table->Init(blocks, PrepareOwn);
  engine->system_calls = calls;
  const uint64_t heap_start = RawSyscall(SYS_brk, 0);
  calls->Init(table, heap_start, heap_start, engine->allocator.is_glibc, &engine->progress.events);
  engine->region_cache.Init(table, heap_start);
  engine->shared->heap_start = heap_start;
  const uint64_t fs_base = (uint64_t)__builtin_thread_pointer();
  if (!engine->allocator.is_glibc) VisitAnonymousMaps(fs_base, AddEarlierMapping, calls);
  VisitAnonymousMaps(fs_base, NoteMapAtStart, nullptr);
  return engine->resident.Init(table, engine->shared->expected_events);
}

const char* SetUp(Engine* engine, int ring_fd) {
  SharedHeader* shared = engine->shared;
  if (shared->version != kSharedVersion) return "driver and engine are of different versions";
  SetSignals();
  SetClock(&engine->progress.events);
  const long personality = RawSyscall(SYS_personality, 0xffffffff);  // asks only
  shared->aslr_disabled = personality >= 0 && (personality & ADDR_NO_RANDOMIZE) != 0;
  strncpy(shared->glibc_version, gnu_get_libc_version(), sizeof(shared->glibc_version) - 1);
  if (const char* wrong = engine->allocator.Resolve()) return wrong;
  memcpy(shared->allocator, engine->allocator.path, sizeof(shared->allocator) - 1);
  shared->allocator_is_glibc = engine->allocator.is_glibc;

  if (const char* wrong = engine->ring.Init(ring_fd, shared, &engine->stop)) return wrong;
  engine->lanes_by_fs_base = shared->token_mode == 0 && Lanes::CanSetFsBase();
  shared->lanes_by_fs_base = engine->lanes_by_fs_base;
  if (const char* wrong = engine->lanes.Init(LaneBody, /*one_runs=*/engine->lanes_by_fs_base)) return wrong;
  if (const char* wrong = SetUpSystemCalls(engine)) return wrong;
  engine->touch = shared->touch == Touch::kPages;
  if (engine->allocator.is_glibc && !engine->touch && shared->move_contents == 0) {
    shared->contents_left_out = RedirectContents();
  }
  if (shared->placement != 0) {
    if (!engine->allocator.is_glibc) return "only glibc's placements can be compared";
    Placement::Heap* heaps = (Placement::Heap*)MapOwn(Placement::kHeaps * sizeof(Placement::Heap));
    if (heaps == nullptr) return "no memory for tables";
    engine->placement.Init(heaps);
    engine->compare_placement = true;
  }
  // The first use of glibc's malloc reads its tunables; that is no system call
  // of the trace's.
  if (engine->allocator.is_glibc) shared->initial_heap_bytes = GlibcHeldBytes();
  engine->call_ring.Init(shared, (MemoryCall*)((char*)shared + kMemoryCallsOffset), &engine->stop);
  const auto seen = [](bool changed) {
    if (changed) g_engine.region_cache.Clear();
    g_engine.call_ring.Append(g_engine.system_calls->last());
  };
  engine->watching = StartWatch(engine->system_calls, seen, shared->keep_call_sites == 0, shared->overcommit);
  shared->syscalls_seen = engine->watching;
  return nullptr;
}

void SetState(SharedHeader* shared, EngineState state) {
  // Matched by the driver's acquire, before it reads what the state promises.
  __atomic_store_n(&shared->state, state, __ATOMIC_RELEASE);
  __atomic_fetch_add(&shared->consumed_futex, 1, __ATOMIC_SEQ_CST);
  RawSyscall(SYS_futex, &shared->consumed_futex, FUTEX_WAKE, 1, nullptr, nullptr, 0);
}

EngineState AnswerProbes(Engine* engine) {
  SharedHeader* shared = engine->shared;
  if (shared->version != kSharedVersion) return EngineState::kFailed;
  engine->failure = engine->allocator.Resolve();
  if (engine->failure != nullptr) return EngineState::kFailed;
  if (engine->allocator.is_glibc) ProbeSettings(engine->allocator, shared->probes);
  return EngineState::kDone;
}

EngineState Replay(Engine* engine, int ring_fd) {
  SharedHeader* shared = engine->shared;
  engine->failure = SetUp(engine, ring_fd);
  if (engine->failure != nullptr) return EngineState::kFailed;
  SetState(shared, EngineState::kRunning);

  const uint64_t own_allocations = OwnAllocations();
  const Baseline baseline = TakeBaseline(*engine);
  SetWatch(engine->watching);
  const Outcome outcome = Conduct(engine);
  SetWatch(false);
  shared->own_allocations = OwnAllocations() - own_allocations;
  if (!engine->watching) {
    VisitAnonymousMaps(engine->lanes[0].fs_base, AddMapAtEnd, engine->system_calls);
  }
  WriteResults(engine, baseline);
  if (outcome == Outcome::kFailed) return EngineState::kFailed;
  if (engine->system_calls->table().overflowed()) {
    engine->failure = "the allocator holds more regions than the engine can list";
    return EngineState::kFailed;
  }
  return outcome == Outcome::kEnd ? EngineState::kDone : EngineState::kStopped;
}

}  // namespace
}  // namespace heaptape

int main(int argc, char** argv) {
  using namespace heaptape;
  const int shared_fd = argc == 3 ? ParseFd(argv[1]) : -1;
  const int ring_fd = argc == 3 ? ParseFd(argv[2]) : -1;
  if (shared_fd < 0 || ring_fd < 0 || MapShared(&g_engine, shared_fd) != nullptr) {
    constexpr char kUsage[] = "heaptape-engine is started by heaptape, not by hand\n";
    RawSyscall(SYS_write, 2, kUsage, sizeof(kUsage) - 1);
    Exit(2);
  }
  const EngineState state =
      g_engine.shared->probe_only != 0 ? AnswerProbes(&g_engine) : Replay(&g_engine, ring_fd);
  if (g_engine.failure != nullptr) {
    strncpy(g_engine.shared->failure, g_engine.failure, sizeof(g_engine.shared->failure) - 1);
  }
  SetState(g_engine.shared, state);
  // Parked lanes go with the process; no destructor may run on their storage.
  Exit(0);
}
