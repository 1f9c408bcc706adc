#include "proto/random_events.h"

#include <map>
#include <random>
#include <utility>

namespace heaptape {
namespace {

// A toy allocator: bump pointer plus a stack of freed addresses per size.
class ToyHeap {
 public:
  uint64_t Allocate(uint64_t size) {
    const uint64_t chunk = (size + 8 + 31) & ~uint64_t{15};
    std::vector<uint64_t>& freed = freed_[chunk];
    if (!freed.empty()) {
      const uint64_t address = freed.back();
      freed.pop_back();
      return address;
    }
    const uint64_t address = next_;
    next_ += chunk;
    return address;
  }
  void Free(uint64_t address, uint64_t size) { freed_[(size + 8 + 31) & ~uint64_t{15}].push_back(address); }

 private:
  uint64_t next_ = 0x5555'5557'a2a0;
  std::map<uint64_t, std::vector<uint64_t>> freed_;
};

}  // namespace

std::vector<Event> RandomEvents(const RandomEventsOptions& options) {
  std::mt19937_64 random(options.seed);
  const auto below = [&random](uint64_t n) { return random() % n; };
  ToyHeap heap;
  std::vector<std::pair<uint64_t, uint64_t>> live;  // address, size
  std::vector<Event> events;
  uint32_t thread = 0;
  while (events.size() < options.count) {
    Event event;
    if (below(8) == 0) thread = static_cast<uint32_t>(below(options.threads));
    event.thread = thread;
    const uint64_t size = 1 + below(options.max_size);
    const uint64_t dice = below(2 * options.live_target);
    if (dice < live.size() && !live.empty()) {
      const size_t victim = below(3) == 0 ? live.size() - 1 : below(live.size());
      auto [address, old_size] = live[victim];
      if (options.every_kind && below(5) == 0) {
        event.kind = EventKind::kRealloc;
        event.old_address = address;
        event.size = size;
        event.address = below(2) == 0 ? address : heap.Allocate(size);
        if (event.address != address) heap.Free(address, old_size);
        live[victim] = {event.address, size};
      } else {
        event.kind = EventKind::kFree;
        event.address = address;
        heap.Free(address, old_size);
        live[victim] = live.back();
        live.pop_back();
      }
      events.push_back(event);
      continue;
    }
    event.size = size;
    event.address = heap.Allocate(size);
    if (options.every_kind) {
      switch (below(12)) {
        case 0: event.kind = EventKind::kCalloc; break;
        case 1: event.kind = EventKind::kMemalign; event.alignment_log2 = 4; break;
        case 2: event.kind = EventKind::kPosixMemalign; event.alignment_log2 = 4; break;
        case 3: event.kind = EventKind::kRealloc; break;  // realloc(NULL, size)
        default: break;
      }
    }
    live.emplace_back(event.address, size);
    events.push_back(event);
  }
  return events;
}

}  // namespace heaptape
