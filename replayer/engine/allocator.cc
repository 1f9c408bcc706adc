#include "replayer/engine/allocator.h"

#include <dlfcn.h>
#include <gnu/libc-version.h>
#include <malloc.h>
#include <string.h>

namespace heaptape {

namespace {

template <typename Function>
void Look(const char* name, Function** function) {
  *function = (Function*)dlsym(RTLD_NEXT, name);
}

// As Look, but null unless the function is in the object that begins at `base`.
template <typename Function>
void LookIn(const void* base, const char* name, Function** function) {
  Look(name, function);
  Dl_info info;
  if (*function == nullptr || dladdr((void*)*function, &info) == 0 || info.dli_fbase != base) {
    *function = nullptr;
  }
}

}  // namespace

const char* Allocator::Resolve() {
  Look("malloc", &malloc);
  Look("calloc", &calloc);
  Look("realloc", &realloc);
  Look("free", &free);
  Look("malloc_usable_size", &usable_size);
  if (!malloc || !calloc || !realloc || !free || !usable_size) return "malloc family is incomplete";

  Dl_info info, libc;
  if (dladdr((void*)malloc, &info) == 0 || dladdr((void*)gnu_get_libc_version, &libc) == 0) {
    return "cannot tell which object malloc is in";
  }
  void* const others[] = {(void*)calloc, (void*)realloc, (void*)free, (void*)usable_size};
  for (void* other : others) {
    Dl_info at;
    if (dladdr(other, &at) == 0 || at.dli_fbase != info.dli_fbase) {
      return "malloc family is spread over several objects";
    }
  }
  is_glibc = info.dli_fbase == libc.dli_fbase;
  strncpy(path, info.dli_fname, sizeof(path) - 1);

  LookIn(info.dli_fbase, "memalign", &memalign);
  if (memalign == nullptr) LookIn(info.dli_fbase, "aligned_alloc", &memalign);
  if (memalign == nullptr) return "neither memalign nor aligned_alloc";
  LookIn(info.dli_fbase, "malloc_trim", &trim);
  LookIn(info.dli_fbase, "mallopt", &mallopt);
  return nullptr;
}

uint64_t GlibcHeldBytes() {
  const struct mallinfo2 info = mallinfo2();
  return info.arena + info.hblkhd;
}

}  // namespace heaptape
