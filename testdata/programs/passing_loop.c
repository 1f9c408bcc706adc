// Four threads, each with 2,500 live blocks of 16 to 1024 bytes; every fourth
// block that a thread lets go is handed to the next one, which frees it. Prints
// the nanoseconds and the calls. usage: passing_loop [calls]
#include <pthread.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

enum { kThreads = 4, kLive = 2500, kRing = 1024 };

// One producer, one consumer.
struct ring {
  _Alignas(64) _Atomic uint64_t head;
  _Alignas(64) _Atomic uint64_t tail;
  _Alignas(64) void* slots[kRing];
};
static struct ring rings[kThreads];
static _Atomic uint64_t all_calls;
static uint64_t calls_a_thread;

static int push(struct ring* ring, void* block) {
  const uint64_t head = atomic_load_explicit(&ring->head, memory_order_relaxed);
  if (head - atomic_load_explicit(&ring->tail, memory_order_acquire) == kRing) return 0;
  ring->slots[head % kRing] = block;
  atomic_store_explicit(&ring->head, head + 1, memory_order_release);
  return 1;
}

static void* pop(struct ring* ring) {
  const uint64_t tail = atomic_load_explicit(&ring->tail, memory_order_relaxed);
  if (tail == atomic_load_explicit(&ring->head, memory_order_acquire)) return NULL;
  void* block = ring->slots[tail % kRing];
  atomic_store_explicit(&ring->tail, tail + 1, memory_order_release);
  return block;
}

static void* run(void* argument) {
  const int self = (int)(intptr_t)argument;
  uint64_t state = 0x9E3779B97F4A7C15u * (uint64_t)(self + 1), calls = 0;
  char* blocks[kLive] = {NULL};
  for (uint64_t i = 0; calls < calls_a_thread; ++i) {
    state ^= state << 13;
    state ^= state >> 7;
    state ^= state << 17;
    char** block = &blocks[(state >> 32) % kLive];
    if (*block != NULL && ((state >> 20) % 4 != 0 || !push(&rings[(self + 1) % kThreads], *block))) {
      free(*block);
      ++calls;
    }
    *block = malloc(16 + (uint32_t)state % 1009);
    (*block)[0] = 1;
    ++calls;
    if (i % 16 != 0) continue;
    for (void* passed; (passed = pop(&rings[self])) != NULL; ++calls) free(passed);
  }
  for (int i = 0; i < kLive; ++i) free(blocks[i]);
  atomic_fetch_add(&all_calls, calls + kLive);
  return NULL;
}

int main(int argc, char** argv) {
  calls_a_thread = (argc > 1 ? strtoull(argv[1], NULL, 0) : 20000000) / kThreads;
  struct timespec start, end;
  clock_gettime(CLOCK_MONOTONIC, &start);
  pthread_t threads[kThreads];
  for (int i = 0; i < kThreads; ++i) pthread_create(&threads[i], NULL, run, (void*)(intptr_t)i);
  for (int i = 0; i < kThreads; ++i) pthread_join(threads[i], NULL);
  clock_gettime(CLOCK_MONOTONIC, &end);
  for (int i = 0; i < kThreads; ++i) {
    for (void* passed; (passed = pop(&rings[i])) != NULL;) free(passed);
  }
  printf("%lu %lu\n", (uint64_t)(end.tv_sec - start.tv_sec) * 1000000000u + (uint64_t)end.tv_nsec - (uint64_t)start.tv_nsec,
         (uint64_t)all_calls);
  return 0;
}
