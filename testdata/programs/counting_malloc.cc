// An allocator to stand behind the interposer: libc's, with every call counted.
// At exit the counts go to the file named by COUNTS, one line.
//
// Needs no libstdc++ and allocates nothing itself.

#include <errno.h>
#include <fcntl.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <unistd.h>

extern "C" {

void* __libc_malloc(size_t);
void __libc_free(void*);
void* __libc_calloc(size_t, size_t);
void* __libc_realloc(void*, size_t);
void* __libc_memalign(size_t, size_t);
char* getenv(const char*) noexcept;

static uint64_t mallocs, frees, callocs, reallocs, aligneds;

static void Count(uint64_t* counter) { __atomic_fetch_add(counter, 1, __ATOMIC_RELAXED); }

void* malloc(size_t size) noexcept {
  Count(&mallocs);
  return __libc_malloc(size);
}
void free(void* block) noexcept {
  if (block != nullptr) Count(&frees);
  __libc_free(block);
}
void* calloc(size_t count, size_t size) noexcept {
  Count(&callocs);
  return __libc_calloc(count, size);
}
void* realloc(void* block, size_t size) noexcept {
  Count(&reallocs);
  return __libc_realloc(block, size);
}
// Exported functions do not call each other: the interposer would see that.
static void* Aligned(size_t alignment, size_t size) {
  Count(&aligneds);
  return __libc_memalign(alignment, size);
}
void* memalign(size_t alignment, size_t size) noexcept { return Aligned(alignment, size); }
void* aligned_alloc(size_t alignment, size_t size) noexcept { return Aligned(alignment, size); }
int posix_memalign(void** block, size_t alignment, size_t size) noexcept {
  if (alignment % sizeof(void*) != 0 || (alignment & (alignment - 1)) != 0) return EINVAL;
  *block = Aligned(alignment, size);
  return *block == nullptr ? ENOMEM : 0;
}

__attribute__((destructor)) static void Report() {
  const char* const path = getenv("COUNTS");
  if (path == nullptr) return;
  char line[200];
  const int size = snprintf(line, sizeof line, "malloc %lu free %lu calloc %lu realloc %lu aligned %lu\n", mallocs, frees,
                            callocs, reallocs, aligneds);
  const int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC, 0600);
  if (fd < 0) return;
  [[maybe_unused]] const ssize_t written = write(fd, line, static_cast<size_t>(size));
  close(fd);
}

}  // extern "C"
