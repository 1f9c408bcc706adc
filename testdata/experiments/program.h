// What the recorded programs share.

#ifndef HEAPTAPE_TESTDATA_EXPERIMENTS_PROGRAM_H_
#define HEAPTAPE_TESTDATA_EXPERIMENTS_PROGRAM_H_

#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

// Numbers that look random, the same in each run: from `low` up to, and without,
// `high`. xorshift64.
static inline size_t Between(size_t low, size_t high) {
  static uint64_t state = 0x9E3779B97F4A7C15u;
  state ^= state << 13;
  state ^= state >> 7;
  state ^= state << 17;
  return low + state % (high - low);
}

// A block that is in use.
static inline char* Make(size_t bytes) {
  char* block = malloc(bytes);
  block[0] = 1;
  return block;
}

// What any code does in between: small blocks that come and go.
static inline void Chatter(int count) {
  for (int i = 0; i < count; ++i) free(Make(24 + 8 * (i % 64)));
}

#endif  // HEAPTAPE_TESTDATA_EXPERIMENTS_PROGRAM_H_
