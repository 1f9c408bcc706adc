// Makes a heap with glibc, then walks it by its own chunk headers, knowing nothing of
// what it did: prints what is in use and what is free. A test compares that with the
// map that we make of live blocks alone.
//
// Run it with thread caches and fast bins off: chunks in them are marked in use.

#include <malloc.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

enum { kBlocks = 3000, kCalls = 30000 };

static void* blocks[kBlocks];
static size_t sizes[kBlocks];
static char output[1 << 16];

static uint64_t state;
static uint64_t Random(void) {
  state ^= state << 13;
  state ^= state >> 7;
  return state ^= state << 17;
}

int main(int argc, char** argv) {
  setvbuf(stdout, output, _IOFBF, sizeof output);
  state = argc > 1 ? strtoull(argv[1], NULL, 10) * 0x9e3779b97f4a7c15u + 1 : 1;
  mallopt(M_MMAP_THRESHOLD, 1 << 30);
  mallopt(M_TRIM_THRESHOLD, 1 << 30);
  const uintptr_t start = (uintptr_t)sbrk(0);
  for (int i = 0; i < kCalls; ++i) {
    const int at = Random() % kBlocks;
    sizes[at] = Random() % (Random() % 40000 + 1);
    if (blocks[at] == NULL) {
      blocks[at] = malloc(sizes[at]);
    } else if (Random() % 3 == 0) {
      blocks[at] = realloc(blocks[at], sizes[at] + 1);
      ++sizes[at];
    } else {
      free(blocks[at]);
      blocks[at] = NULL;
    }
  }
  const uintptr_t end = (uintptr_t)sbrk(0);
  printf("region %lu %lu\n", start, end);
  for (int i = 0; i < kBlocks; ++i) {
    if (blocks[i] != NULL) printf("block %lu %zu %zu\n", (uintptr_t)blocks[i], malloc_usable_size(blocks[i]), sizes[i]);
  }
  // The word before a block is its chunk's size; bit 0 says that the chunk before is in use.
  for (uintptr_t chunk = start; chunk < end;) {
    const size_t size = ((const size_t*)chunk)[1] & ~(size_t)7;
    const uintptr_t next = chunk + size;
    if (next >= end) {
      printf("top %lu %lu\n", chunk, size);
    } else {
      const int used = ((const size_t*)next)[1] & 1;
      printf("%s %lu %lu\n", used ? "used" : "free", chunk, size);
    }
    chunk = next;
  }
  return 0;
}
