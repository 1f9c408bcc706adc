// The least that any interposer costs: each call goes to the next definition,
// and nothing else happens. What recording adds is measured against this.

#include <stddef.h>

extern "C" {

void* __libc_malloc(size_t);
void __libc_free(void*);
void* __libc_calloc(size_t, size_t);
void* __libc_realloc(void*, size_t);

void* malloc(size_t size) noexcept { return __libc_malloc(size); }
void free(void* block) noexcept { __libc_free(block); }
void* calloc(size_t count, size_t size) noexcept { return __libc_calloc(count, size); }
void* realloc(void* block, size_t size) noexcept { return __libc_realloc(block, size); }

}  // extern "C"
