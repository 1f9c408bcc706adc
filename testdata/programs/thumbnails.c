// Decodes images of up to 8 MB, keeps the last 40 of them, and keeps a thumbnail
// of each for ever. At the end the images are gone, the thumbnails stay.
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

enum { kImages = 600, kKept = 40 };

static uint32_t state = 1;
static size_t between(size_t low, size_t high) {
  state = state * 1664525 + 1013904223;
  return low + (size_t)(state >> 4) % (high - low);
}

static char* decode(size_t bytes) {
  char* block = malloc(bytes);
  memset(block, 1, bytes);
  return block;
}

int main(void) {
  static char *images[kKept], *thumbnails[kImages];
  for (int i = 0; i < kImages; ++i) {
    free(images[i % kKept]);
    images[i % kKept] = decode(between(200 << 10, 8 << 20));
    thumbnails[i] = decode(between(8 << 10, 24 << 10));
  }
  for (int i = 0; i < kKept; ++i) free(images[i]);
  return thumbnails[0][0] != 1;
}
