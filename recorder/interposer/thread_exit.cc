#include "recorder/interposer/thread_exit.h"

#include <limits.h>
#include <pthread.h>
#include <stdint.h>

#include "recorder/interposer/log.h"

namespace heaptape {
namespace {

constexpr pthread_key_t kKeysWithoutAllocation = 32;  // PTHREAD_KEY_2NDLEVEL_SIZE of glibc

pthread_key_t key;
bool open;

// The value counts the rounds that have been.
void Destructor(void* value) {
  const uintptr_t round = reinterpret_cast<uintptr_t>(value);
  if (round < PTHREAD_DESTRUCTOR_ITERATIONS) {
    pthread_setspecific(key, reinterpret_cast<void*>(round + 1));
  } else {
    EndThread();
  }
}

}  // namespace

void OpenThreadExit() {
  if (pthread_key_create(&key, Destructor) != 0) return;
  if (key >= kKeysWithoutAllocation) {
    pthread_key_delete(key);
    return;
  }
  open = true;
  WatchThreadExit();
}

void WatchThreadExit() {
  if (open) pthread_setspecific(key, reinterpret_cast<void*>(uintptr_t{1}));
}

}  // namespace heaptape
