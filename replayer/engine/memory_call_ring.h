// MemoryCallRing: the engine's end of the ring that tells the driver of every
// memory system call.
//
// Island; one thread at a time, from the signal handler, so no TLS. The driver
// empties the ring while it waits for the engine; where it is too slow for that
// the engine waits, and nothing is lost.

#ifndef HEAPTAPE_REPLAYER_ENGINE_MEMORY_CALL_RING_H_
#define HEAPTAPE_REPLAYER_ENGINE_MEMORY_CALL_RING_H_

#include "replayer/plan/instruction.h"

namespace heaptape {

class MemoryCallRing {
 public:
  // `stop` ends every wait once it is not 0; calls are dropped from then on.
  void Init(SharedHeader* shared, MemoryCall* calls, const volatile int* stop);

  void Append(const MemoryCall& call);

 private:
  // False when told to stop.
  bool AwaitRoom(uint32_t written);

  SharedHeader* shared_;
  MemoryCall* calls_;
  const volatile int* stop_;
};

}  // namespace heaptape

#endif  // HEAPTAPE_REPLAYER_ENGINE_MEMORY_CALL_RING_H_
