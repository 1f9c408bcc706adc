#include "replayer/driver/memory_call_reader.h"

#include <cstdint>

namespace heaptape {

void MemoryCallReader::Drain() {
  uint32_t read = shared_->calls_read;  // ours alone
  // Matched by the engine's release, after it has written them.
  const uint32_t written = __atomic_load_n(&shared_->calls_written, __ATOMIC_ACQUIRE);
  if (read == written) return;
  for (; read != written; ++read) sink_(calls_[read & (kMemoryCallCapacity - 1)]);
  // Matched by the engine's acquire, before it writes over them.
  __atomic_store_n(&shared_->calls_read, read, __ATOMIC_RELEASE);
}

}  // namespace heaptape
