// A library whose constructor allocates before ours runs, and whose destructor
// frees after ours has: depends on the order of preloading.
#include <stdlib.h>

enum { kBlocks = 10000 };
static void* blocks[kBlocks];

__attribute__((constructor)) static void allocate(void) {
  for (int i = 0; i < kBlocks; ++i) blocks[i] = malloc((size_t)(1 + i % 500));
}
__attribute__((destructor)) static void release(void) {
  for (int i = 0; i < kBlocks; ++i) free(blocks[i]);
}
