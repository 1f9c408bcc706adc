// Threads that come and go, hand blocks to each other, and free in the
// destructors of their keys. usage: threads [threads] [calls a thread]
#include <pthread.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdlib.h>

enum { kShared = 64 };
static void* _Atomic shared[kShared];
static pthread_key_t key;
static long calls = 2000;

// Re-arms itself, as libraries do that free in several rounds.
static void destructor(void* block) {
  static __thread int rounds;
  free(block);
  if (++rounds < 3) pthread_setspecific(key, malloc(50));
}

static void* run(void* argument) {
  uint32_t s = (uint32_t)(intptr_t)argument * 77 + 1;
  pthread_setspecific(key, malloc(10));
  for (long i = 0; i < calls; ++i) {
    s = s * 1103515245 + 12345;
    void* block = malloc(16 + s % 1500);
    if (i % 3 == 0) block = realloc(block, 16 + (s >> 8) % 3000);
    free(atomic_exchange(&shared[(s >> 4) % kShared], block));
  }
  return NULL;
}

int main(int argc, char** argv) {
  const int threads = argc > 1 ? atoi(argv[1]) : 4;
  if (argc > 2) calls = atol(argv[2]);
  pthread_key_create(&key, destructor);
  for (int round = 0; round < 2; ++round) {
    pthread_t ids[1000];
    for (int i = 0; i < threads; ++i) pthread_create(&ids[i], NULL, run, (void*)(intptr_t)(i + round * threads));
    for (int i = 0; i < threads; ++i) pthread_join(ids[i], NULL);
  }
  for (int i = 0; i < kShared; ++i) free(shared[i]);
  return 0;
}
