// ToyProgram: makes up the trace of a program that never ran.
//
// Mainland, for tests alone. Speaks of blocks by number; addresses are invented,
// each used once.

#ifndef HEAPTAPE_REPLAYER_DRIVER_TOY_PROGRAM_H_
#define HEAPTAPE_REPLAYER_DRIVER_TOY_PROGRAM_H_

#include <cstdint>
#include <random>
#include <utility>
#include <vector>

#include "proto/event.h"

namespace heaptape {

class ToyProgram {
 public:
  using Block = uint64_t;

  // Later calls are made by this thread.
  ToyProgram& Thread(uint32_t thread) {
    thread_ = thread;
    return *this;
  }

  Block Malloc(uint64_t size) { return Make(EventKind::kMalloc, size, 0); }
  Block Calloc(uint64_t size) { return Make(EventKind::kCalloc, size, 0); }
  Block Memalign(uint8_t alignment_log2, uint64_t size) {
    return Make(EventKind::kMemalign, size, alignment_log2);
  }
  Block Realloc(Block old, uint64_t size) {
    const Block made = Make(EventKind::kRealloc, size, 0);
    events_.back().old_address = old;
    return made;
  }
  void Free(Block block) {
    events_.push_back({.address = block, .thread = thread_, .kind = EventKind::kFree});
  }
  void EndThread() { events_.push_back({.thread = thread_, .kind = EventKind::kThreadEnd}); }
  void Mallopt(int parameter, int value) {
    events_.push_back({.address = 1,
                       .old_address = static_cast<uint32_t>(value),
                       .size = static_cast<uint32_t>(parameter),
                       .thread = thread_,
                       .kind = EventKind::kMallopt});
  }

  // `count` blocks of `size`, freed first to last or last to first.
  void FillAndFree(int count, uint64_t size, bool last_first) {
    std::vector<Block> blocks;
    for (int i = 0; i < count; ++i) blocks.push_back(Malloc(size));
    for (int i = 0; i < count; ++i) Free(blocks[last_first ? count - 1 - i : i]);
  }

  // `count` calls on about `live` blocks of random sizes up to `max_size`, by
  // `threads` threads, all kinds of call.
  void Churn(uint64_t seed, int count, size_t live, uint64_t max_size, uint32_t threads = 1) {
    std::mt19937_64 random(seed);
    std::vector<Block> blocks;
    for (int i = 0; i < count; ++i) {
      if (random() % 4 == 0) Thread(random() % threads);
      const uint64_t size = random() % (random() % max_size + 1);
      if (random() % (2 * live) >= blocks.size()) {
        switch (random() % 8) {
          case 0:
            blocks.push_back(Calloc(size));
            break;
          case 1:
            blocks.push_back(Memalign(5 + random() % 8, size));
            break;
          default:
            blocks.push_back(Malloc(size));
        }
        continue;
      }
      Block& victim = blocks[random() % blocks.size()];
      if (random() % 6 == 0) {
        victim = Realloc(victim, size + 1);
      } else {
        Free(victim);
        victim = blocks.back();
        blocks.pop_back();
      }
    }
  }

  const std::vector<Event>& events() const { return events_; }

 private:
  Block Make(EventKind kind, uint64_t size, uint8_t alignment_log2) {
    const Block block = next_;
    next_ += 16;
    events_.push_back({.address = block,
                       .size = size,
                       .thread = thread_,
                       .kind = kind,
                       .alignment_log2 = alignment_log2});
    return block;
  }

  std::vector<Event> events_;
  uint64_t next_ = 16;
  uint32_t thread_ = 0;
};

}  // namespace heaptape

#endif  // HEAPTAPE_REPLAYER_DRIVER_TOY_PROGRAM_H_
