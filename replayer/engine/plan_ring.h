// PlanRing: the engine's end of the ring that the plan comes through.
//
// Island; one thread at a time; never allocates, uses no TLS (it may run while
// the FS base is a lane's). Hands out whole stretches of words, so that the
// executor's loop reads plain memory.

#ifndef HEAPTAPE_REPLAYER_ENGINE_PLAN_RING_H_
#define HEAPTAPE_REPLAYER_ENGINE_PLAN_RING_H_

#include <stdint.h>

#include "replayer/plan/instruction.h"

namespace heaptape {

class PlanRing {
 public:
  // Words beyond a stretch that may be read, though they mean nothing.
  static constexpr int kReadAhead = 64;

  // Null, or what went wrong. `stop` ends every wait once it is not 0.
  const char* Init(int fd, SharedHeader* shared, const volatile int* stop);

  // Gives the words before *end back and waits for more: [*begin, *end). False
  // when told to stop.
  bool Next(const uint64_t** begin, const uint64_t** end);

  uint64_t wait_ns() const { return wait_ns_; }

 private:
  bool Stopped() const;

  SharedHeader* shared_;
  const volatile int* stop_;
  const uint64_t* words_;
  uint64_t stretch_;   // words given out at once
  uint64_t mask_;
  uint64_t position_;  // words given out
  uint64_t woken_;     // what position_ was when the driver was last woken
  // Words of the ring since its beginning whose pages have been made present, and
  // those whose pages are not any more.
  uint64_t prepared_, released_;
  uint64_t wait_ns_;
};

}  // namespace heaptape

#endif  // HEAPTAPE_REPLAYER_ENGINE_PLAN_RING_H_
