// The allocator that we stand in front of.
//
// Island. Each entry is the first definition behind ours in the order in which
// the dynamic linker searches: another preloaded allocator, or else libc. We
// find it ourselves in the linker's list of objects, because dlsym takes locks,
// may allocate, and is not there yet when the first call can come.

#ifndef HEAPTAPE_RECORDER_INTERPOSER_NEXT_H_
#define HEAPTAPE_RECORDER_INTERPOSER_NEXT_H_

#include <stddef.h>

namespace heaptape {

struct NextAllocator {
  void* (*malloc)(size_t);
  void (*free)(void*);
  void* (*calloc)(size_t, size_t);
  void* (*realloc)(void*, size_t);
  void* (*memalign)(size_t, size_t);
  void* (*aligned_alloc)(size_t, size_t);
  int (*posix_memalign)(void**, size_t, size_t);
  void* (*valloc)(size_t);
  void* (*pvalloc)(size_t);
  size_t (*malloc_usable_size)(void*);
  int (*mallopt)(int, int);
  int (*malloc_trim)(size_t);
  void (*free_sized)(void*, size_t);                  // null where there is none
  void (*free_aligned_sized)(void*, size_t, size_t);  // likewise
};

// All null until SetNextAllocator; `malloc` is set last.
extern NextAllocator next;

// Finds them. False while the dynamic linker has not yet relocated us: nothing
// outside this object can be called then. May run on several threads at once,
// to the same end.
bool FindNextAllocator(NextAllocator* found);
void SetNextAllocator(const NextAllocator& found);

// Path of the object that serves malloc, if it is not libc; else "".
const char* NextAllocatorPath();

}  // namespace heaptape

#endif  // HEAPTAPE_RECORDER_INTERPOSER_NEXT_H_
