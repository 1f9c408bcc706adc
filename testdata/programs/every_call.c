// One call of each function that allocates or frees, with edge values, in an
// order that a test knows by heart (recorder/record_test.cc).
#define _GNU_SOURCE
#include <errno.h>
#include <malloc.h>
#include <stdint.h>
#include <stdlib.h>
#include <unistd.h>

static volatile size_t huge = SIZE_MAX / 2;

static void check(int ok, int line) {
  if (!ok) _exit(line % 256);
}
#define CHECK(condition) check(condition, __LINE__)

int main(void) {
  char* m = malloc(100);
  char* c = calloc(10, 20);
  char* r = realloc(NULL, 64);
  r = realloc(r, 100000);
  char* ra = reallocarray(NULL, 7, 9);
  char* al = memalign(64, 65);
  char* aa = aligned_alloc(128, 256);
  void* pm = NULL;
  CHECK(posix_memalign(&pm, 4096, 5) == 0);
  char* v = valloc(33);
  char* pv = pvalloc(34);
  CHECK(m && c && r && ra && al && aa && pm && v && pv);
  CHECK((uintptr_t)al % 64 == 0 && (uintptr_t)aa % 128 == 0 && (uintptr_t)pm % 4096 == 0);
  CHECK(malloc_usable_size(m) >= 100);
  char* big = malloc(1 << 20);

  // What fails leaves errno as the allocator set it, and its block alone.
  errno = 0;
  CHECK(malloc(huge) == NULL && errno == ENOMEM);
  errno = 0;
  CHECK(calloc(huge, 16) == NULL && errno == ENOMEM);
  errno = 0;
  CHECK(reallocarray(m, huge, 16) == NULL && errno == ENOMEM);
  errno = 0;
  CHECK(realloc(m, huge) == NULL && errno == ENOMEM);
  CHECK(posix_memalign(&pm, 3, 5) == EINVAL);

  // What succeeds leaves errno alone.
  errno = 42;
  free(m);
  CHECK(realloc(ra, 0) == NULL);
  char* zero = malloc(0);
  CHECK(zero != NULL && errno == 42);
  free(NULL);
  free(zero);
  free(c);
  free(r);
  free(al);
  free(aa);
  free(pm);
  free(v);
  free(pv);
  free(big);
  CHECK(mallopt(M_MMAP_THRESHOLD, 65536) == 1);
  malloc_trim(0);
  CHECK(errno == 42);
  return 7;
}
