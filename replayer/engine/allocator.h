// Allocator: the functions of the allocator under test.
//
// Island. Taken by dlsym(RTLD_NEXT) from whatever comes behind the executable:
// a preloaded allocator, or libc. Calling `malloc` by name would reach the
// engine's own arena (own_allocator.h).

#ifndef HEAPTAPE_REPLAYER_ENGINE_ALLOCATOR_H_
#define HEAPTAPE_REPLAYER_ENGINE_ALLOCATOR_H_

#include <stddef.h>
#include <stdint.h>

namespace heaptape {

struct Allocator {
  void* (*malloc)(size_t bytes);
  void* (*calloc)(size_t count, size_t bytes);
  void* (*realloc)(void* block, size_t bytes);
  void (*free)(void* block);
  void* (*memalign)(size_t alignment, size_t bytes);
  size_t (*usable_size)(void* block);
  // Null where the allocator has none of its own (libc's would be another's).
  int (*trim)(size_t pad_bytes);
  int (*mallopt)(int parameter, int value);

  bool is_glibc;
  char path[256];  // of the object they are in

  // Fills this in. Null, or what is missing.
  const char* Resolve();
};

// Bytes that glibc's mallinfo2 says it holds: arena + hblkhd.
uint64_t GlibcHeldBytes();

}  // namespace heaptape

#endif  // HEAPTAPE_REPLAYER_ENGINE_ALLOCATOR_H_
