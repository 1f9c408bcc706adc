// The functions that a program finds instead of its allocator's.
//
// Island. Each forwards and logs; none changes an argument, a result or errno,
// pads a block, or touches its contents. An allocation is logged when it has
// returned, a free before it is forwarded: log.h says why.

#include <errno.h>
#include <stddef.h>
#include <stdint.h>

#include "recorder/interposer/attach.h"
#include "recorder/interposer/early_arena.h"
#include "recorder/interposer/log.h"
#include "recorder/interposer/next.h"
#include "recorder/wire/call.h"

#define HEAPTAPE_EXPORT __attribute__((visibility("default")))
#define HEAPTAPE_UNLIKELY(condition) __builtin_expect(!!(condition), 0)

namespace heaptape {
namespace {

using wire::Form;
using wire::Tag;

constexpr size_t kPageBytes = 4096;

uint64_t Address(const void* block) { return reinterpret_cast<uint64_t>(block); }

// Whether `next` may be called.
inline bool Ready() { return !HEAPTAPE_UNLIKELY(next.malloc == nullptr) || Attach(); }

__attribute__((noinline, cold)) void* AllocatedLong(Form form, void* block, size_t size) {
  LogLong(wire::LongWord(form, 0, Address(block)), wire::Payload(size));
  return block;
}

inline void* Allocated(Tag tag, Form form, void* block, size_t size) {
  if (HEAPTAPE_UNLIKELY(!wire::FitsShort(Address(block), size))) return AllocatedLong(form, block, size);
  Log(wire::ShortCall(tag, Address(block), size));
  return block;
}

inline void* AllocatedAligned(Form form, void* block, size_t alignment, size_t size) {
  const uint64_t log2 = alignment == 0 ? 0 : 63 - static_cast<uint64_t>(__builtin_clzl(alignment));
  LogLong(wire::LongWord(form, log2, Address(block)), wire::Payload(size));
  return block;
}

inline void Freed(Tag tag, Form form, const void* block) {
  if (HEAPTAPE_UNLIKELY(!wire::FitsShort(Address(block), 0))) {
    Log(wire::LongWord(form, 0, Address(block)));
  } else {
    Log(wire::ShortCall(tag, Address(block), 0));
  }
}

// True if the block is the next allocator's, and now logged as freed.
inline bool Free(const void* block) {
  if (block == nullptr || HEAPTAPE_UNLIKELY(IsEarly(block)) || !Ready()) return false;
  Freed(Tag::kFree, Form::kFree, block);
  return true;
}

// realloc of a block from before we were relocated.
void* ReallocateEarly(void* block, size_t size) {
  if (!Ready()) return EarlyReallocate(block, size);
  char* const moved = static_cast<char*>(next.malloc(size));
  Allocated(Tag::kMalloc, Form::kMalloc, moved, size);
  const size_t keep = size < EarlyUsableSize(block) ? size : EarlyUsableSize(block);
  for (size_t i = 0; moved != nullptr && i < keep; ++i) moved[i] = static_cast<char*>(block)[i];
  return moved;
}

}  // namespace

extern "C" {

HEAPTAPE_EXPORT void* malloc(size_t size) noexcept {
  if (!Ready()) return EarlyAllocate(size);
  return Allocated(Tag::kMalloc, Form::kMalloc, next.malloc(size), size);
}

HEAPTAPE_EXPORT void free(void* block) noexcept {
  if (Free(block)) next.free(block);
}

HEAPTAPE_EXPORT void* calloc(size_t count, size_t size) noexcept {
  size_t bytes;
  if (__builtin_mul_overflow(count, size, &bytes)) bytes = SIZE_MAX;
  if (!Ready()) return EarlyAllocate(bytes);
  return Allocated(Tag::kCalloc, Form::kCalloc, next.calloc(count, size), bytes);
}

HEAPTAPE_EXPORT void* realloc(void* block, size_t size) noexcept {
  if (HEAPTAPE_UNLIKELY(IsEarly(block))) return ReallocateEarly(block, size);
  if (!Ready()) return EarlyAllocate(size);
  Freed(Tag::kRelease, Form::kRelease, block);
  return Allocated(Tag::kAcquire, Form::kAcquire, next.realloc(block, size), size);
}

HEAPTAPE_EXPORT void* reallocarray(void* block, size_t count, size_t size) noexcept {
  size_t bytes;
  if (__builtin_mul_overflow(count, size, &bytes)) {
    errno = ENOMEM;
    return nullptr;
  }
  return realloc(block, bytes);
}

HEAPTAPE_EXPORT void* memalign(size_t alignment, size_t size) noexcept {
  if (!Ready()) return EarlyAllocate(size, alignment);
  return AllocatedAligned(Form::kMemalign, next.memalign(alignment, size), alignment, size);
}

HEAPTAPE_EXPORT void* aligned_alloc(size_t alignment, size_t size) noexcept {
  if (!Ready()) return EarlyAllocate(size, alignment);
  return AllocatedAligned(Form::kAlignedAlloc, next.aligned_alloc(alignment, size), alignment, size);
}

HEAPTAPE_EXPORT int posix_memalign(void** block, size_t alignment, size_t size) noexcept {
  if (!Ready()) {
    *block = EarlyAllocate(size, alignment);
    return *block == nullptr ? ENOMEM : 0;
  }
  const int result = next.posix_memalign(block, alignment, size);
  AllocatedAligned(Form::kPosixMemalign, result == 0 ? *block : nullptr, alignment, size);
  return result;
}

HEAPTAPE_EXPORT void* valloc(size_t size) noexcept {
  if (!Ready()) return EarlyAllocate(size, kPageBytes);
  return AllocatedAligned(Form::kValloc, next.valloc(size), kPageBytes, size);
}

HEAPTAPE_EXPORT void* pvalloc(size_t size) noexcept {
  if (!Ready()) return EarlyAllocate(size, kPageBytes);
  return AllocatedAligned(Form::kPvalloc, next.pvalloc(size), kPageBytes, size);
}

HEAPTAPE_EXPORT size_t malloc_usable_size(void* block) noexcept {
  if (HEAPTAPE_UNLIKELY(IsEarly(block))) return EarlyUsableSize(block);
  return Ready() ? next.malloc_usable_size(block) : 0;
}

HEAPTAPE_EXPORT void free_sized(void* block, size_t size) noexcept {
  if (!Free(block)) return;
  next.free_sized != nullptr ? next.free_sized(block, size) : next.free(block);
}

HEAPTAPE_EXPORT void free_aligned_sized(void* block, size_t alignment, size_t size) noexcept {
  if (!Free(block)) return;
  next.free_aligned_sized != nullptr ? next.free_aligned_sized(block, alignment, size) : next.free(block);
}

// Gone from libc's headers since 2.26, still called by old programs.
HEAPTAPE_EXPORT void cfree(void* block) noexcept { free(block); }

HEAPTAPE_EXPORT int mallopt(int parameter, int value) noexcept {
  if (!Ready()) return 0;
  const int result = next.mallopt(parameter, value);
  LogLong(wire::LongWord(Form::kMallopt, result != 0, static_cast<uint32_t>(parameter)),
      wire::Payload(static_cast<uint32_t>(value)));
  return result;
}

HEAPTAPE_EXPORT int malloc_trim(size_t pad) noexcept {
  if (!Ready()) return 0;
  const int result = next.malloc_trim(pad);
  LogLong(wire::LongWord(Form::kMallocTrim, result != 0, 0), wire::Payload(pad));
  return result;
}

}  // extern "C"
}  // namespace heaptape
