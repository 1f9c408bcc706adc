// Lanes: one thread for each thread that was recorded.
//
// Island. An allocator keeps its thread caches and its choice of arena in
// thread-local storage, so a call must be made with the storage of its thread.
// A lane is a real thread that lends its storage: it parks on a futex, and the
// one running thread points its own FS base at the lane's while it makes the
// lane's calls. Only the end of a thread must happen in the thread itself. Nobody
// waits for a lane to park: its storage is there before it runs.
//
// In token mode, for machines without FSGSBASE and to prove that the trick
// changes nothing, the running thread really is the lane's: each parks until it
// is its turn (conductor.h).
//
// Stacks come from the engine's own pages and are used again, so lanes leave no
// trace among the allocator's mappings. Lane 0 is the process's first thread.

#ifndef HEAPTAPE_REPLAYER_ENGINE_LANES_H_
#define HEAPTAPE_REPLAYER_ENGINE_LANES_H_

#include <pthread.h>
#include <stdint.h>

#include "replayer/plan/instruction.h"

namespace heaptape {

class Lanes;

struct Lane {
  uint64_t fs_base;    // 0: not made yet, or ended
  pthread_t thread;
  Lanes* lanes;        // that it is one of
  uint32_t turn;       // futex: 1 when the lane's thread is to go on
  uint32_t tid;        // 0 until it runs
  uint32_t processor;  // where it was made to run
  uint32_t stack;      // number of its stack
  bool ended;
};

class Lanes {
 public:
  // Makes the caller lane 0. Each other lane runs `body` with its number and
  // then ends; `one_runs` if the caller replays for all of them. Null, or what
  // went wrong.
  const char* Init(void (*body)(uint32_t lane), bool one_runs);

  // True if the processor and the kernel let a program set its FS base.
  static bool CanSetFsBase();

  Lane& operator[](uint32_t lane) { return lanes_[lane]; }

  // Makes `lane` if it is not there. REQUIRES: the caller's own FS base. Null,
  // or why there is no such lane.
  const char* Make(uint32_t lane);
  // Make has the caller stay on its processor, on which the new threads run too: a system
  // call for each would add up. After some time the caller is to be free again.
  void LetMove() {
    if (pinned_) Unpin();
  }
  // Blocks until the thread of `lane`, told to return, is gone.
  void Join(uint32_t lane);
  // Lets the thread of `lane`, which waits for its turn to return, do so.
  void End(uint32_t lane);

  // A lane's thread waits here for its turn; another gives it.
  void AwaitTurn(uint32_t lane);
  void GiveTurn(uint32_t lane);

  uint64_t made() const { return made_; }
  uint32_t numbers() const { return numbers_; }  // one more than the highest made

 private:
  // Stacks are mapped so many at a time, and lanes' own memory prepared.
  static constexpr uint64_t kStackBlock = 64;
  static constexpr uint64_t kStackCapacity = 64 << 10;

  static void* ThreadMain(void* lanes);
  void PrepareLane(uint32_t number);
  void Unpin();
  // Null, or why there is no stack number stacks_made_.
  const char* MakeStack();
  char* StackOf(uint32_t number) const;

  Lane* lanes_;
  uint32_t lanes_prepared_;  // so many have their memory
  uint64_t processors_[16];  // bits of those that we may use
  bool may_pin_;
  bool pinned_;              // to `pinned_to_` alone
  uint32_t pinned_to_;
  char* stacks_[kStackCapacity / kStackBlock];
  uint32_t* free_stacks_;
  uint32_t free_stack_count_, stacks_made_;
  uint64_t made_;
  uint32_t numbers_;
  void (*body_)(uint32_t lane);
};

inline void SetFsBase(uint64_t fs_base) { asm volatile("wrfsbase %0" : : "r"(fs_base) : "memory"); }

}  // namespace heaptape

#endif  // HEAPTAPE_REPLAYER_ENGINE_LANES_H_
