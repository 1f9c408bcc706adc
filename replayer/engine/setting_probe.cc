#include "replayer/engine/setting_probe.h"

#include <malloc.h>
#include <pthread.h>
#include <string.h>

#include "replayer/engine/glibc_heap.h"

namespace heaptape {

namespace {

constexpr uint64_t kMiB = 1 << 20;
constexpr uint64_t kMostBlocks = 4096;
constexpr uint64_t kDefaultTcacheCount = 7;
constexpr uint64_t kDefaultMmapThreshold = 128 << 10;
constexpr uint64_t kDefaultTopPad = 128 << 10;
constexpr uint64_t kLargestFast = 160;  // that mxfast can be set to
constexpr uint64_t kHeapBytes = 64 << 20;

void* g_blocks[kMostBlocks + 2];

class Prober {
 public:
  Prober(const Allocator& allocator, ProbeSlot* probes) : allocator_(allocator), probes_(probes) {}

  void Run() {
    // The first call makes the heap; later ones find it in use.
    Answer(kProbeTopPad, TopPad());
    Answer(kProbePerturb, Perturb());
    Answer(kProbeTcacheCount, TcacheCount());
    Answer(kProbeTcacheMax, TcacheMax());
    Answer(kProbeMxfast, Mxfast());
    Answer(kProbeMmapThreshold, MmapThreshold());
    Answer(kProbeTrimThreshold, TrimThreshold());
    Answer(kProbeMmapMax, MmapMax());
    Answer(kProbeArenaMax, ArenaMax());
  }

 private:
  void Answer(ProbedSetting setting, ProbeResult result) {
    if (IsSet(setting)) probes_[setting].result = result;
  }
  bool IsSet(ProbedSetting setting) const { return probes_[setting].is_set != 0; }
  uint64_t Value(ProbedSetting setting, uint64_t otherwise = 0) const {
    return IsSet(setting) ? probes_[setting].value : otherwise;
  }
  static ProbeResult If(bool in_force) {
    return in_force ? ProbeResult::kInForce : ProbeResult::kIgnored;
  }

  char* Make(uint64_t bytes) const { return (char*)allocator_.malloc(bytes); }
  void Free(void* block) const { allocator_.free(block); }
  static uint64_t ArenaBytes() { return mallinfo2().arena; }

  // The heap's first size is what one block needs and the pad.
  ProbeResult TopPad() const {
    const uint64_t pad = Value(kProbeTopPad);
    if (pad > 1024 * kMiB) return ProbeResult::kNotProbed;
    const bool is_first = ArenaBytes() == 0;
    Make(16);
    if (!IsSet(kProbeTopPad) || !is_first || !HeapServes(2000)) return ProbeResult::kNotProbed;
    const uint64_t arena = ArenaBytes();
    return If(arena >= pad && arena <= pad + 4 * 4096);
  }

  ProbeResult Perturb() const {
    const unsigned char byte = Value(kProbePerturb);
    if (byte == 0) return ProbeResult::kNotProbed;
    const unsigned char* block = (unsigned char*)Make(3000);
    return If(block[0] == (byte ^ 0xff) && block[2999] == (byte ^ 0xff));
  }

  // Of one block more than fit, freed in order, the last that did comes back first.
  ProbeResult TcacheCount() const {
    const uint64_t count = Value(kProbeTcacheCount);
    if (!IsSet(kProbeTcacheCount) || count > kMostBlocks || !HeapServes(50000)) {
      return ProbeResult::kNotProbed;
    }
    if (count == 0) return If(!ComesBackLastFirst(900, 0));
    if (Value(kProbeTcacheMax, 1032) < 24) return ProbeResult::kNotProbed;
    for (uint64_t i = 0; i <= count; ++i) g_blocks[i] = Make(24);
    for (uint64_t i = 0; i <= count; ++i) Free(g_blocks[i]);
    return If(Make(24) == g_blocks[count - 1]);
  }

  // Two neighbours are freed, behind `fillers` of the same size. Kept apart, the
  // last comes back first; merged, the first one does.
  bool ComesBackLastFirst(uint64_t bytes, uint64_t fillers) const {
    for (uint64_t i = 0; i < fillers; ++i) g_blocks[i] = Make(bytes);
    // Out of the top, so that they are neighbours.
    char* large = Make(bytes + 40000);
    Make(16);
    Free(large);
    char* first = Make(bytes);
    char* second = Make(bytes);
    for (uint64_t i = 0; i < fillers; ++i) Free(g_blocks[i]);
    Free(first);
    Free(second);
    for (uint64_t i = 0; i < fillers; ++i) Make(bytes);
    return Make(bytes) == second;
  }

  ProbeResult TcacheMax() const {
    const uint64_t max = Value(kProbeTcacheMax);
    if (!IsSet(kProbeTcacheMax) || max <= kLargestFast || max > 1032 ||
        Value(kProbeTcacheCount, kDefaultTcacheCount) < 2 || !HeapServes(max + 50000)) {
      return ProbeResult::kNotProbed;
    }
    const uint64_t chunk = (max + 8) & ~uint64_t{15};  // whose block is at most `max`
    if (!ComesBackLastFirst(chunk - 8, 0)) return ProbeResult::kIgnored;
    return If(max + 16 > 1032 || !ComesBackLastFirst(chunk + 40, 0));
  }

  ProbeResult Mxfast() const {
    const uint64_t max = Value(kProbeMxfast);
    const uint64_t cached = Value(kProbeTcacheCount, kDefaultTcacheCount);
    if (!IsSet(kProbeMxfast) || max > kLargestFast || cached > kMostBlocks ||
        Value(kProbeTcacheMax, 1032) < 1032 || !HeapServes(50000)) {
      return ProbeResult::kNotProbed;
    }
    // max, 0 excepted, is rounded so that blocks of it are still fast.
    if (max >= 32 && !ComesBackLastFirst(max - 8, cached)) return ProbeResult::kIgnored;
    return If(!ComesBackLastFirst(max + 40, cached));
  }

  // Whether blocks of so many bytes lie in the heap rather than in a mapping.
  bool HeapServes(uint64_t bytes) const {
    return Value(kProbeMmapThreshold, kDefaultMmapThreshold) > bytes + 64;
  }

  // Makes blocks until one does not come out of what the heap has. Whether that
  // one has a mapping of its own; *found is false if that took too long.
  bool NextIsMmapped(uint64_t bytes, bool* found) const {
    const uint64_t arena = ArenaBytes();
    *found = true;
    for (uint64_t i = 0; i < 100000; ++i) {
      const char* block = Make(bytes);
      if (block == nullptr) break;
      if (IsMmapped((uint64_t)block)) return true;
      if (ArenaBytes() != arena) return false;
    }
    *found = false;
    return false;
  }

  ProbeResult MmapThreshold() const {
    const uint64_t threshold = Value(kProbeMmapThreshold);
    if (!IsSet(kProbeMmapThreshold) || threshold > 1024 * kMiB ||
        Value(kProbeMmapMax, 65536) < 16) {
      return ProbeResult::kNotProbed;
    }
    bool found;
    const bool at = NextIsMmapped(threshold, &found);
    if (!found) return ProbeResult::kNotProbed;
    if (!at) return ProbeResult::kIgnored;
    if (threshold < 1024) return ProbeResult::kInForce;
    const bool below = NextIsMmapped(threshold - 64, &found);
    if (!found) return ProbeResult::kNotProbed;
    return If(!below);
  }

  // Grows the heap by `bytes` and frees that last to first. What it then holds.
  uint64_t ArenaAfterFreeing(uint64_t bytes, uint64_t* grown) const {
    const uint64_t blocks = bytes / 4096;
    void* newest = nullptr;
    for (uint64_t i = 0; i < blocks; ++i) {
      char* block = Make(4080);
      *(void**)block = newest;
      newest = block;
    }
    *grown = ArenaBytes();
    while (newest != nullptr) {
      void* next = *(void**)newest;
      Free(newest);
      newest = next;
    }
    return ArenaBytes();
  }

  ProbeResult TrimThreshold() const {
    const uint64_t threshold = Value(kProbeTrimThreshold);
    const uint64_t pad = Value(kProbeTopPad, kDefaultTopPad);
    if (!IsSet(kProbeTrimThreshold) || !HeapServes(8192) || pad > 16 * kMiB) {
      return ProbeResult::kNotProbed;
    }
    uint64_t grown;
    if (threshold > 64 * kMiB) {  // the default would give most of this back
      const uint64_t left = ArenaAfterFreeing(32 * kMiB + 2 * pad, &grown);
      return If(left == grown);
    }
    const uint64_t before = ArenaBytes();
    const uint64_t left = ArenaAfterFreeing(threshold + 4 * pad + 8 * kMiB, &grown);
    return If(left <= before + threshold + 2 * pad + kMiB);
  }

  ProbeResult MmapMax() const {
    const uint64_t max = Value(kProbeMmapMax);
    if (!IsSet(kProbeMmapMax) || Value(kProbeMmapThreshold) > 64 * kMiB ||
        Value(kProbeTopPad) > 32 * kMiB || Value(kProbeTrimThreshold) > 0) {
      return ProbeResult::kNotProbed;
    }
    // Blocks of the probes before this one would count, and so would others'.
    if (max > 0 && max <= 64 && (!HeapServes(50000) || mallinfo2().hblks != 0)) return ProbeResult::kNotProbed;
    if (max > 64) return If(IsMmapped((uint64_t)Make(64 * kMiB)));
    for (uint64_t i = 0; i <= max; ++i) g_blocks[i] = Make(64 * kMiB + i * 4096);
    const bool last_is = IsMmapped((uint64_t)g_blocks[max]);
    const bool before_is = max == 0 || IsMmapped((uint64_t)g_blocks[max - 1]);
    for (uint64_t i = 0; i <= max; ++i) Free(g_blocks[i]);
    return If(before_is && !last_is);
  }

  static constexpr uint64_t kMostArenas = 32;

  struct Thread {
    const Prober* prober;
    pthread_t thread;
    void* block;
  };

  static void* ThreadMain(void* argument) {
    Thread& thread = *(Thread*)argument;
    thread.block = thread.prober->Make(100);
    // Arenas of threads that have ended are given to others.
    pthread_barrier_wait(&thread.prober->barrier_);
    return nullptr;
  }

  ProbeResult ArenaMax() {
    const uint64_t max = Value(kProbeArenaMax);
    if (!IsSet(kProbeArenaMax) || max == 0 || max > kMostArenas) return ProbeResult::kNotProbed;
    static Thread threads[kMostArenas + 1];
    pthread_barrier_init(&barrier_, nullptr, max + 2);
    for (uint64_t i = 0; i <= max; ++i) {
      threads[i].prober = this;
      if (pthread_create(&threads[i].thread, nullptr, ThreadMain, &threads[i]) != 0) {
        return ProbeResult::kNotProbed;
      }
    }
    pthread_barrier_wait(&barrier_);
    for (uint64_t i = 0; i <= max; ++i) pthread_join(threads[i].thread, nullptr);
    uint64_t arenas[kMostArenas + 1];
    uint64_t count = 1;  // the main one
    for (uint64_t i = 0; i <= max; ++i) {
      const uint64_t block = (uint64_t)threads[i].block;
      if (block == 0 || !IsInArenaHeap(block)) continue;
      const uint64_t arena = ((const GlibcHeap*)(block & ~(kHeapBytes - 1)))->arena;
      bool is_new = true;
      for (uint64_t j = 1; j < count; ++j) is_new = is_new && arenas[j - 1] != arena;
      if (is_new) arenas[count++ - 1] = arena;
    }
    return If(count == max);
  }

  const Allocator& allocator_;
  ProbeSlot* const probes_;
  mutable pthread_barrier_t barrier_;
};

}  // namespace

void ProbeSettings(const Allocator& allocator, ProbeSlot* probes) { Prober(allocator, probes).Run(); }

}  // namespace heaptape
