#include "replayer/engine/executor.h"

#include "replayer/engine/contents.h"
#include "replayer/engine/glibc_heap.h"
#include "replayer/engine/own_pages.h"
#include "replayer/engine/settling.h"
#include "replayer/engine/system_call_watch.h"

namespace heaptape {

namespace {

// The slots of instructions so far ahead are brought into the cache, and then the
// headers of the blocks in them.
constexpr int kSlotPrefetch = 12;
constexpr int kBlockPrefetch = 5;
static_assert(kBlockPrefetch < kSlotPrefetch && kSlotPrefetch < PlanRing::kReadAhead);

constexpr char kNoSlot[] = "an instruction names a slot that was not announced";

// A step of the digest. One multiplication, so that it hides behind the allocator.
inline uint64_t Mix(uint64_t digest, uint64_t place) {
  digest = (digest ^ place) * 0x9fb21c651e98df25u;
  return digest ^ digest >> 32;
}

// Writes the first byte of each page that [from, to) has a part in.
void TouchPages(char* from, char* to) {
  while (from < to) {
    *(volatile char*)from = 0;
    from = (char*)(((uint64_t)from | (kPageBytes - 1)) + 1);
  }
}

// Instructions that are rare, or need not be fast.
class Rare {
 public:
  explicit Rare(Engine* engine) : engine_(*engine) {}

  bool TakeSample(uint64_t number) {
    if (number >= kSampleCapacity) return Fail("a sample beyond the last possible");
    const uint64_t began = NowNs();
    Progress& progress = engine_.progress;
    Sample& sample = engine_.samples[number];
    sample.event = progress.events;
    sample.usable_bytes = progress.usable_bytes;
    sample.system_bytes = engine_.system_calls->Measure();
    sample.resident_bytes = engine_.resident.Sample(progress.events);
    progress.sample_count = number + 1;
    progress.sample_ns += NowNs() - began;
    return true;
  }

  void HalveSamples() {
    Progress& progress = engine_.progress;
    progress.sample_count = (progress.sample_count + 1) / 2;
    for (uint32_t i = 0; i < progress.sample_count; ++i) {
      engine_.samples[i] = engine_.samples[2 * i];
    }
  }

  bool AddSlots(uint64_t count) {
    if (count > kSlotCapacity) return Fail("more slots than there are");
    const uint64_t old = engine_.slot_count;
    if (count <= old) return true;
    if (count % kSlotsAPage != 0) return Fail("a part of a page of slots");
    const uint64_t bytes = (count - old) * sizeof(Slot);
    if (!MapOwnFileAt(engine_.slots + old, engine_.shared_fd, kSlotsOffset + old * sizeof(Slot),
                      bytes, true)) {
      return Fail("no address space for slots");
    }
    PrepareOwn(engine_.slots + old, bytes);
    engine_.slot_count = engine_.shared->slot_count = count;
    return true;
  }

  bool MakeLane(uint64_t lane) {
    if (lane >= kLaneCapacity) return Fail("a lane beyond the last possible");
    if (engine_.lanes_by_fs_base) SetFsBase(engine_.lanes[0].fs_base);
    const char* wrong = engine_.lanes.Make(lane);
    return wrong == nullptr || Fail(wrong);
  }

  // What a replay does of its own behind the last event; the last sample is as of
  // after that.
  bool End() {
    const SharedHeader& asked = *engine_.shared;
    if (asked.trim_at_end == 0 && asked.settle_ms == 0) return true;
    if (asked.trim_at_end != 0 && engine_.allocator.trim != nullptr) engine_.allocator.trim(0);
    if (asked.settle_ms != 0 && !Settle(&engine_, asked.settle_ms)) {
      return Fail("settling needs a processor with FSGSBASE");
    }
    const uint32_t samples = engine_.progress.sample_count;
    return samples == 0 || TakeSample(samples - 1);
  }

  bool Fail(const char* what) {
    engine_.failure = what;
    return false;
  }

 private:
  Engine& engine_;
};

// What takes part in every allocation. All state is in the engine, so that the
// loop's few registers are left to the loop.
template <bool kGlibc, bool kTouch, bool kPlacement>
class Blocks {
 public:
  explicit Blocks(Engine* engine) : engine_(*engine), progress_(engine->progress) {}

  // Notes what came out of an allocation in `slot`, which is empty. Bytes below
  // `touched` have been written to before; it was recorded at `recorded`.
  void Made(Slot* slot, void* block, uint64_t size, uint64_t touched, uint64_t recorded) {
    const uint64_t place = engine_.region_cache.Place((uint64_t)block);
    progress_.digest = Mix(progress_.digest, place);
    if (__builtin_expect(block == nullptr, 0)) {
      ++progress_.failed_calls;
      return;
    }
    const uint64_t usable = kGlibc ? GlibcUsableBytes(block) : engine_.allocator.usable_size(block);
    *slot = {(uint64_t)block, usable};
    const uint64_t total = progress_.usable_bytes + usable;
    progress_.usable_bytes = total;
    if (total > progress_.peak_usable_bytes) {
      progress_.peak_usable_bytes = total;
      progress_.peak_usable_event = progress_.events;
    }
    if (kTouch) TouchPages((char*)block + touched, (char*)block + size);
    if (kPlacement) {
      engine_.placement.Compare((uint64_t)block, RegionCache::OriginOf(place), recorded,
                                progress_.events);
    }
  }

  // Empties the slot before its block is given back.
  void* Take(Slot* slot) {
    void* block = (void*)slot->address;
    progress_.usable_bytes -= slot->usable_bytes;
    slot->address = 0;
    slot->usable_bytes = 0;
    return block;
  }

  void* Calloc(uint64_t size) {
    if (kUnread) contents_unread = true;
    void* block = engine_.allocator.calloc(1, size);
    if (kUnread) contents_unread = false;
    return block;
  }

  void Reallocate(Slot* slot, uint64_t size, uint64_t recorded) {
    const Slot old = *slot;
    Take(slot);
    if (kUnread) contents_unread = true;
    void* block = engine_.allocator.realloc((void*)old.address, size);
    if (kUnread) contents_unread = false;
    // Only glibc's usable bytes end in the page in which the requested ones do; what
    // others add was not written to before.
    Made(slot, block, size, kGlibc ? old.usable_bytes : 0, recorded);
    if (block == nullptr && size != 0) {  // the old one lives on
      *slot = old;
      progress_.usable_bytes += old.usable_bytes;
    }
  }

 private:
  // Nobody reads what is in blocks: see contents.h.
  static constexpr bool kUnread = kGlibc && !kTouch;

  Engine& engine_;
  Progress& progress_;
};

template <bool kGlibc, bool kTouch, bool kPlacement>
Outcome Run(Engine* engine_pointer) {
  Engine& engine = *engine_pointer;
  Progress& progress = engine.progress;
  Blocks<kGlibc, kTouch, kPlacement> blocks(engine_pointer);
  Rare rare(engine_pointer);
  Slot* const slots = engine.slots;
  const uint64_t* at = engine.at;
  const uint64_t* end = engine.end;

  // The next stretch of the plan. False when told to stop.
  const auto refill = [&engine] {
    engine.lanes.LetMove();
    if (!engine.ring.Next(&engine.at, &engine.end)) return false;
    if (engine.watching) SetWatch(true);
    return true;
  };
  const auto leave = [&engine](const uint64_t* at, Outcome outcome) {
    engine.at = at;
    return outcome;
  };
  const auto fail = [&rare](const char* what) {
    rare.Fail(what);
    return Outcome::kFailed;
  };

  for (;;) {
    if (__builtin_expect(at == end, 0)) {
      if (!refill()) return Outcome::kStopped;
      at = engine.at;
      end = engine.end;
    }
    const uint64_t word = *at++;
    __builtin_prefetch(&slots[SlotOf(at[kSlotPrefetch])], 1);
    // What looks like an instruction may be a wide size, or not written yet.
    const uint64_t soon = SlotOf(at[kBlockPrefetch]);
    if (soon < engine.slot_count) __builtin_prefetch((char*)slots[soon].address - 16, 1);
    uint64_t size = SizeOf(word);
    if (__builtin_expect(IsWide(word), 0)) {
      if (at == end) {
        if (!refill()) return Outcome::kStopped;
        at = engine.at;
        end = engine.end;
      }
      size = *at++;
    }
    uint64_t recorded = 0;
    if (kPlacement && HasRecordedAddress(OpOf(word))) {
      if (at == end) {
        if (!refill()) return Outcome::kStopped;
        at = engine.at;
        end = engine.end;
      }
      recorded = *at++;
    }
    const uint64_t number = SlotOf(word);
    Slot* const slot = &slots[number];

    switch (OpOf(word)) {
      case Op::kMalloc:
        ++progress.events;
        if (number >= engine.slot_count) return fail(kNoSlot);
        blocks.Made(slot, engine.allocator.malloc(size), size, 0, recorded);
        break;

      case Op::kFree:
        ++progress.events;
        if (number >= engine.slot_count) return fail(kNoSlot);
        engine.allocator.free(blocks.Take(slot));
        break;

      case Op::kCalloc:
        ++progress.events;
        if (number >= engine.slot_count) return fail(kNoSlot);
        blocks.Made(slot, blocks.Calloc(size), size, 0, recorded);
        break;

      case Op::kRealloc:
        ++progress.events;
        if (number >= engine.slot_count) return fail(kNoSlot);
        blocks.Reallocate(slot, size, recorded);
        break;

      case Op::kMemalign:
        ++progress.events;
        if (number >= engine.slot_count) return fail(kNoSlot);
        blocks.Made(slot, engine.allocator.memalign((size_t)1 << (SizeOf(word) & 63), size), size, 0,
                    recorded);
        break;

      case Op::kDrop:
        if (number >= engine.slot_count) return fail(kNoSlot);
        engine.allocator.free(blocks.Take(slot));
        break;

      case Op::kSkip:
        progress.events += size;
        break;

      case Op::kLane:
        if (number >= kLaneCapacity || engine.lanes[number].fs_base == 0) {
          if (!rare.MakeLane(number)) return leave(at, Outcome::kFailed);
        }
        engine.lane = number;
        if (!engine.lanes_by_fs_base) return leave(at, Outcome::kLane);
        SetFsBase(engine.lanes[number].fs_base);
        break;

      case Op::kLaneEnd:
        ++progress.events;
        if (number == 0 || number != engine.lane) return fail("a lane ends that is not current");
        return leave(at, Outcome::kLaneEnd);

      case Op::kMallopt:
        ++progress.events;
        if (engine.allocator.mallopt != nullptr) {
          engine.allocator.mallopt((int)size, (int)(size >> 32));
        }
        break;

      case Op::kTrim:
        progress.events += number == 0;
        if (engine.allocator.trim != nullptr) engine.allocator.trim(size);
        break;

      case Op::kSample:
        if (!rare.TakeSample(number)) return Outcome::kFailed;
        break;

      case Op::kHalve:
        rare.HalveSamples();
        break;

      case Op::kSlots:
        if (!rare.AddSlots(size)) return Outcome::kFailed;
        break;

      case Op::kEnd:
        return rare.End() ? Outcome::kEnd : Outcome::kFailed;

      default:
        return fail("an unknown instruction");
    }
  }
}

}  // namespace

Outcome Execute(Engine* engine) {
  const bool touch = engine->touch;
  if (engine->compare_placement) {
    return touch ? Run<true, true, true>(engine) : Run<true, false, true>(engine);
  }
  if (engine->allocator.is_glibc) {
    return touch ? Run<true, true, false>(engine) : Run<true, false, false>(engine);
  }
  return touch ? Run<false, true, false>(engine) : Run<false, false, false>(engine);
}

}  // namespace heaptape
