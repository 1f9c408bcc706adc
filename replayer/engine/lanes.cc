#include "replayer/engine/lanes.h"

#include <linux/futex.h>
#include <sys/auxv.h>
#include <sys/syscall.h>

#include "replayer/engine/own_pages.h"
#include "replayer/engine/raw_syscall.h"
#include "replayer/engine/system_call_watch.h"

namespace heaptape {

namespace {

// Room for thread-local storage, a signal frame with all vector registers, and
// an allocator's clean-up.
constexpr uint64_t kStackBytes = 64 << 10;
// What a parked thread has already touched; present before it starts, so that it
// causes no fault while the replay counts them.
constexpr uint64_t kStackPrepared = 16 << 10;
constexpr uint64_t kFsGsBase = 2;  // HWCAP2_FSGSBASE

// Blocks until *word, a futex, is not 0.
void Await(uint32_t* word) {
  while (__atomic_load_n(word, __ATOMIC_ACQUIRE) == 0) {
    RawSyscall(SYS_futex, word, FUTEX_WAIT_PRIVATE, 0, nullptr, nullptr, 0);
  }
}

void Wake(uint32_t* word) {
  __atomic_store_n(word, 1, __ATOMIC_RELEASE);
  RawSyscall(SYS_futex, word, FUTEX_WAKE_PRIVATE, 1, nullptr, nullptr, 0);
}

}  // namespace

const char* Lanes::Init(void (*body)(uint32_t lane)) {
  body_ = body;
  lanes_ = (Lane*)MapOwn(kLaneCapacity * sizeof(Lane));
  free_stacks_ = (uint32_t*)MapOwn(kStackCapacity * sizeof(uint32_t));
  if (lanes_ == nullptr || free_stacks_ == nullptr) return "no address space for lanes";
  free_stack_count_ = stacks_made_ = 0;
  PrepareOwn(lanes_, sizeof(Lane));
  lanes_[0].fs_base = (uint64_t)__builtin_thread_pointer();
  lanes_[0].thread = pthread_self();
  made_ = numbers_ = 1;
  return nullptr;
}

bool Lanes::CanSetFsBase() { return (getauxval(AT_HWCAP2) & kFsGsBase) != 0; }

const char* Lanes::Make(uint32_t number) {
  Lane& lane = lanes_[number];
  if (lane.fs_base != 0) return nullptr;
  if (lane.ended) return "a lane goes on after its end";
  PrepareOwn(&lane, sizeof(Lane));
  if (free_stack_count_ > 0) {
    lane.stack = free_stacks_[--free_stack_count_];
  } else {
    if (const char* wrong = MakeStack()) return wrong;
    lane.stack = stacks_made_++;
  }

  pthread_attr_t attributes;
  pthread_attr_init(&attributes);
  pthread_attr_setstack(&attributes, StackOf(lane.stack), kStackBytes);
  starting_ = number;
  SetWatch(false);
  const int error = pthread_create(&lane.thread, &attributes, ThreadMain, this);
  SetWatch(true);
  pthread_attr_destroy(&attributes);
  if (error != 0) return "cannot make a thread: too many processes?";
  Await(&lane.started);
  ++made_;
  if (number >= numbers_) numbers_ = number + 1;
  return nullptr;
}

const char* Lanes::MakeStack() {
  const uint32_t number = stacks_made_;
  if (number == kStackCapacity) return "more than 65536 lanes at once";
  if (number % kStackBlock == 0) {
    char* block = (char*)MapOwn(kStackBlock * kStackBytes);
    if (block == nullptr) return "no address space for another lane";
    stacks_[number / kStackBlock] = block;
  }
  PrepareOwn(StackOf(number) + kStackBytes - kStackPrepared, kStackPrepared);
  PrepareOwn(free_stacks_ + number, sizeof(uint32_t));
  return nullptr;
}

char* Lanes::StackOf(uint32_t number) const {
  return stacks_[number / kStackBlock] + number % kStackBlock * kStackBytes;
}

void Lanes::Join(uint32_t number) {
  Lane& lane = lanes_[number];
  pthread_join(lane.thread, nullptr);
  lane.fs_base = 0;
  lane.ended = true;
  free_stacks_[free_stack_count_++] = lane.stack;
}

void Lanes::AwaitTurn(uint32_t lane) {
  Await(&lanes_[lane].turn);
  lanes_[lane].turn = 0;
}

void Lanes::GiveTurn(uint32_t lane) { Wake(&lanes_[lane].turn); }

void* Lanes::ThreadMain(void* argument) {
  Lanes& lanes = *(Lanes*)argument;
  const uint32_t number = lanes.starting_;
  Lane& lane = lanes.lanes_[number];
  lane.fs_base = (uint64_t)__builtin_thread_pointer();
  WatchThisThread();
  Wake(&lane.started);
  lanes.body_(number);
  return nullptr;
}

}  // namespace heaptape
