#include "replayer/engine/executor.h"

#include "replayer/engine/glibc_heap.h"
#include "replayer/engine/own_pages.h"
#include "replayer/engine/system_call_watch.h"

namespace heaptape {

namespace {

// Slots of instructions so far ahead are brought into the cache.
constexpr int kPrefetchDistance = 12;
static_assert(kPrefetchDistance < PlanRing::kReadAhead);

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

// Instructions that are rare, or need not be fast. Progress is up to date.
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
    if (count > engine_.slot_count) {
      PrepareOwn(engine_.slots + engine_.slot_count, (count - engine_.slot_count) * sizeof(Slot));
      engine_.slot_count = count;
    }
    return true;
  }

  bool MakeLane(uint64_t lane) {
    if (lane >= kLaneCapacity) return Fail("a lane beyond the last possible");
    if (engine_.lanes_by_fs_base) SetFsBase(engine_.lanes[0].fs_base);
    const char* wrong = engine_.lanes.Make(lane);
    return wrong == nullptr || Fail(wrong);
  }

  bool Fail(const char* what) {
    engine_.failure = what;
    return false;
  }

 private:
  Engine& engine_;
};

template <bool kGlibc, bool kTouch>
Outcome Run(Engine* engine_pointer) {
  Engine& engine = *engine_pointer;
  Progress& progress = engine.progress;
  Slot* const slots = engine.slots;
  const uint64_t* at = engine.at;
  const uint64_t* end = engine.end;
  uint64_t digest = progress.digest;
  uint64_t usable_bytes = progress.usable_bytes;
  uint64_t live_blocks = progress.live_blocks;
  Rare rare(engine_pointer);

  const auto save = [&] {
    engine.at = at;
    engine.end = end;
    progress.digest = digest;
    progress.usable_bytes = usable_bytes;
    progress.live_blocks = live_blocks;
  };
  const auto leave = [&](Outcome outcome) {
    save();
    return outcome;
  };
  // Notes what came out of an allocation into `slot`, which is empty.
  const auto made = [&](Slot& slot, void* block, uint64_t size, uint64_t touch_from) {
    digest = Mix(digest, engine.region_cache.Place((uint64_t)block));
    if (__builtin_expect(block == nullptr, 0)) {
      ++progress.failed_calls;
      return;
    }
    const uint64_t usable = kGlibc ? GlibcUsableBytes(block) : engine.allocator.usable_size(block);
    slot = {(uint64_t)block, usable};
    ++live_blocks;
    usable_bytes += usable;
    if (usable_bytes > progress.peak_usable_bytes) {
      progress.peak_usable_bytes = usable_bytes;
      progress.peak_usable_event = progress.events;
    }
    if (kTouch) TouchPages((char*)block + touch_from, (char*)block + size);
  };
  const auto take = [&](Slot& slot) {
    const Slot old = slot;
    live_blocks -= old.address != 0;
    usable_bytes -= old.usable_bytes;
    slot = {0, 0};
    return old;
  };

  for (;;) {
    if (__builtin_expect(at == end, 0)) {
      if (!engine.ring.Next(&at, &end)) return leave(Outcome::kStopped);
      if (engine.watching) SetWatch(true);
    }
    const uint64_t word = *at++;
    __builtin_prefetch(&slots[SlotOf(at[kPrefetchDistance - 1])], 1);
    uint64_t size = SizeOf(word);
    if (__builtin_expect(IsWide(word), 0)) {
      if (at == end && !engine.ring.Next(&at, &end)) return leave(Outcome::kStopped);
      size = *at++;
    }
    const uint64_t number = SlotOf(word);
    const Op op = OpOf(word);
    Slot& slot = slots[number];
    if (__builtin_expect(op <= Op::kMemalign && number >= engine.slot_count && op != Op::kEnd, 0)) {
      rare.Fail("an instruction names a slot that was not announced");
      return leave(Outcome::kFailed);
    }

    switch (op) {
      case Op::kMalloc:
        ++progress.events;
        made(slot, engine.allocator.malloc(size), size, 0);
        break;

      case Op::kCalloc:
        ++progress.events;
        made(slot, engine.allocator.calloc(1, size), size, 0);
        break;

      case Op::kFree:
        ++progress.events;
        engine.allocator.free((void*)take(slot).address);
        break;

      case Op::kRealloc: {
        ++progress.events;
        const Slot old = take(slot);
        void* block = engine.allocator.realloc((void*)old.address, size);
        made(slot, block, size, old.usable_bytes);
        if (block == nullptr && size != 0 && old.address != 0) {  // it lives on
          slot = old;
          ++live_blocks;
          usable_bytes += old.usable_bytes;
        }
        break;
      }

      case Op::kMemalign:
        ++progress.events;
        made(slot, engine.allocator.memalign((size_t)1 << (SizeOf(word) & 63), size), size, 0);
        break;

      case Op::kDrop:
        if (number >= engine.slot_count) {
          rare.Fail("an instruction names a slot that was not announced");
          return leave(Outcome::kFailed);
        }
        engine.allocator.free((void*)take(slot).address);
        break;

      case Op::kSkip:
        progress.events += size;
        break;

      case Op::kLane:
        if (number >= kLaneCapacity || engine.lanes[number].fs_base == 0) {
          save();
          if (!rare.MakeLane(number)) return Outcome::kFailed;
        }
        engine.lane = number;
        if (!engine.lanes_by_fs_base) return leave(Outcome::kLane);
        SetFsBase(engine.lanes[number].fs_base);
        break;

      case Op::kLaneEnd:
        ++progress.events;
        if (number == 0 || number != engine.lane) {
          rare.Fail("a lane ends that is not current");
          return leave(Outcome::kFailed);
        }
        return leave(Outcome::kLaneEnd);

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
        save();
        if (!rare.TakeSample(number)) return Outcome::kFailed;
        break;

      case Op::kHalve:
        rare.HalveSamples();
        break;

      case Op::kSlots:
        if (!rare.AddSlots(size)) return leave(Outcome::kFailed);
        break;

      case Op::kEnd:
        return leave(Outcome::kEnd);

      default:
        rare.Fail("an unknown instruction");
        return leave(Outcome::kFailed);
    }
  }
}

}  // namespace

Outcome Execute(Engine* engine) {
  if (engine->allocator.is_glibc) {
    return engine->touch ? Run<true, true>(engine) : Run<true, false>(engine);
  }
  return engine->touch ? Run<false, true>(engine) : Run<false, false>(engine);
}

}  // namespace heaptape
