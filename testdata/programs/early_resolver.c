// A library with a function whose resolver allocates: the dynamic linker calls
// it while it is still relocating, perhaps before it has come to us.
#include <stdlib.h>
#include <string.h>

static int implementation(void) { return 7; }
static int (*resolve(void))(void) {
  char* block = malloc(100);
  block = realloc(block, 2000);
  char* other = calloc(10, 10);
  const int ok = block != NULL && other != NULL && other[99] == 0;
  free(block);
  free(other);
  return ok ? implementation : NULL;
}
int resolved(void) __attribute__((ifunc("resolve")));

__attribute__((constructor)) static void call(void) {
  if (resolved() != 7) abort();
}
