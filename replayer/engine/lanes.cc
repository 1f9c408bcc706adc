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
constexpr uint64_t kStackPrepared = 12 << 10;
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

// The processor that we are on.
uint32_t Here() {
  uint32_t processor = 0;
  RawSyscall(SYS_getcpu, &processor, nullptr, nullptr);
  return processor;
}

// Has a thread, or 0, the caller, run on one processor alone. Should the kernel refuse, it
// is only slower.
void Pin(uint32_t tid, uint32_t processor) {
  uint64_t mask[16] = {};
  if (processor >= sizeof mask * 8) return;
  mask[processor / 64] = (uint64_t)1 << processor % 64;
  RawSyscall(SYS_sched_setaffinity, tid, sizeof mask, mask);
}

}  // namespace

const char* Lanes::Init(void (*body)(uint32_t lane), bool one_runs) {
  body_ = body;
  lanes_ = (Lane*)MapOwn(kLaneCapacity * sizeof(Lane));
  free_stacks_ = (uint32_t*)MapOwn(kStackCapacity * sizeof(uint32_t));
  if (lanes_ == nullptr || free_stacks_ == nullptr) return "no address space for lanes";
  free_stack_count_ = stacks_made_ = 0;
  lanes_prepared_ = 0;
  pinned_ = false;
  PrepareLane(0);
  // A kernel with more processors than bits says no.
  may_pin_ = one_runs && RawSyscall(SYS_sched_getaffinity, 0, sizeof processors_, processors_) > 0;
  lanes_[0].fs_base = (uint64_t)__builtin_thread_pointer();
  lanes_[0].thread = pthread_self();
  if (lanes_[0].fs_base != lanes_[0].thread) return "a libc whose thread is not its FS base";
  made_ = numbers_ = 1;
  return nullptr;
}

bool Lanes::CanSetFsBase() { return (getauxval(AT_HWCAP2) & kFsGsBase) != 0; }

const char* Lanes::Make(uint32_t number) {
  Lane& lane = lanes_[number];
  if (lane.fs_base != 0) return nullptr;
  if (lane.ended) return "a lane goes on after its end";
  PrepareLane(number);
  if (free_stack_count_ > 0) {
    lane.stack = free_stacks_[--free_stack_count_];
  } else {
    if (const char* wrong = MakeStack()) return wrong;
    lane.stack = stacks_made_++;
  }

  pthread_attr_t attributes;
  pthread_attr_init(&attributes);
  pthread_attr_setstack(&attributes, StackOf(lane.stack), kStackBytes);
  lane.lanes = this;
  SetWatch(false);
  if (may_pin_ && !pinned_) {
    Pin(0, pinned_to_ = Here());
    pinned_ = true;
  }
  lane.processor = pinned_to_;
  const int error = pthread_create(&lane.thread, &attributes, ThreadMain, &lane);
  SetWatch(true);
  pthread_attr_destroy(&attributes);
  if (error != 0) return "cannot make a thread: too many processes?";
  // Its storage is there, and no allocator's part of it is touched on the thread's way to
  // where it parks. To wait until it has come there would take longer than to make it.
  lane.fs_base = lane.thread;
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
    PrepareOwn(free_stacks_ + number, kStackBlock * sizeof(uint32_t));
  }
  PrepareOwn(StackOf(number) + kStackBytes - kStackPrepared, kStackPrepared);
  return nullptr;
}

void Lanes::Unpin() {
  RawSyscall(SYS_sched_setaffinity, 0, sizeof processors_, processors_);
  pinned_ = false;
}

void Lanes::PrepareLane(uint32_t number) {
  // And the next, which is read to see that it is not there.
  for (; lanes_prepared_ <= number + 1; lanes_prepared_ += kStackBlock) {
    PrepareOwn(lanes_ + lanes_prepared_, kStackBlock * sizeof(Lane));
  }
}

char* Lanes::StackOf(uint32_t number) const {
  return stacks_[number / kStackBlock] + number % kStackBlock * kStackBytes;
}

void Lanes::End(uint32_t number) {
  // The thread takes our place while we wait for it. On another processor, idle, it would
  // have to be woken there and then we here, which costs ten times as much.
  Lane& lane = lanes_[number];
  const uint32_t tid = __atomic_load_n(&lane.tid, __ATOMIC_RELAXED), here = Here();
  if (tid != 0 && lane.processor != here) Pin(tid, here);
  GiveTurn(number);
  Join(number);
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
  Lane* lane = (Lane*)argument;
  __atomic_store_n(&lane->tid, (uint32_t)RawSyscall(SYS_gettid), __ATOMIC_RELAXED);
  WatchThisThread();
  lane->lanes->body_((uint32_t)(lane - lane->lanes->lanes_));
  return nullptr;
}

}  // namespace heaptape
