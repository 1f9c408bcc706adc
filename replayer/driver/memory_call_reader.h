// MemoryCallReader: the driver's end of the ring of memory system calls.
//
// Mainland. One thread. The engine waits while the ring is full, so Drain must be
// called whenever the driver waits for the engine.

#ifndef HEAPTAPE_REPLAYER_DRIVER_MEMORY_CALL_READER_H_
#define HEAPTAPE_REPLAYER_DRIVER_MEMORY_CALL_READER_H_

#include <functional>

#include "replayer/plan/instruction.h"

namespace heaptape {

using MemoryCallSink = std::function<void(const MemoryCall&)>;

class MemoryCallReader {
 public:
  MemoryCallReader(char* shared_memory, MemoryCallSink sink)
      : shared_(reinterpret_cast<SharedHeader*>(shared_memory)),
        calls_(reinterpret_cast<const MemoryCall*>(shared_memory + kMemoryCallsOffset)),
        sink_(std::move(sink)) {}

  // Hands all calls that are in the ring to the sink, in order.
  void Drain();

 private:
  SharedHeader* const shared_;
  const MemoryCall* const calls_;
  const MemoryCallSink sink_;
};

}  // namespace heaptape

#endif  // HEAPTAPE_REPLAYER_DRIVER_MEMORY_CALL_READER_H_
