// PlanWriter: the driver's end of the ring that the plan goes through.
//
// Mainland. One thread. Blocks while the ring is full, and looks after the engine
// meanwhile.

#ifndef HEAPTAPE_REPLAYER_DRIVER_PLAN_WRITER_H_
#define HEAPTAPE_REPLAYER_DRIVER_PLAN_WRITER_H_

#include <cstdint>
#include <functional>

#include "absl/types/span.h"
#include "replayer/plan/instruction.h"

namespace heaptape {

class PlanWriter {
 public:
  // Writes to `ring` of shared->ring_words words. `go_on` is asked now and then
  // while there is no room, and also says whether the engine still runs.
  PlanWriter(SharedHeader* shared, uint64_t* ring, std::function<bool()> go_on)
      : shared_(shared), ring_(ring), go_on_(std::move(go_on)) {}

  // Appends the words. False if go_on() said no before all were in.
  bool Write(absl::Span<const uint64_t> words);

  uint64_t written() const { return written_; }

 private:
  SharedHeader* const shared_;
  uint64_t* const ring_;
  const std::function<bool()> go_on_;
  uint64_t written_ = 0;
};

// Waits until the engine has consumed words or changed its state, `seen` being
// the value of shared->consumed_futex before that was last looked at; at most a
// twentieth of a second.
void AwaitEngine(SharedHeader* shared, uint32_t seen);

// What the engine says of itself.
EngineState StateOf(const SharedHeader& shared);

}  // namespace heaptape

#endif  // HEAPTAPE_REPLAYER_DRIVER_PLAN_WRITER_H_
