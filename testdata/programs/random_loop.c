// One thread that frees and allocates blocks of 16 to 1024 bytes, 10,000 of them
// live at any time. Prints the nanoseconds of its loop and the calls it made.
// usage: random_loop [calls]
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

enum { kLive = 10000 };
static char* blocks[kLive];

static uint64_t now_ns(void) {
  struct timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

static uint64_t state = 88172645463325252u;
static uint64_t next_random(void) {
  state ^= state >> 12;
  state ^= state << 25;
  state ^= state >> 27;
  return state * 0x2545F4914F6CDD1Du;
}

static char* block_of(uint64_t random) {
  char* block = malloc(16 + random % 1009);
  block[0] = 1;
  return block;
}

int main(int argc, char** argv) {
  const uint64_t calls = argc > 1 ? strtoull(argv[1], NULL, 0) : 20000000;
  const uint64_t start = now_ns();
  for (int i = 0; i < kLive; ++i) blocks[i] = block_of(next_random());
  for (uint64_t i = kLive; i < calls / 2; ++i) {
    const uint64_t random = next_random();
    char** block = &blocks[(uint32_t)(random >> 32) % kLive];
    free(*block);
    *block = block_of((uint32_t)random);
  }
  for (int i = 0; i < kLive; ++i) free(blocks[i]);
  printf("%lu %lu\n", now_ns() - start, calls);
  return 0;
}
