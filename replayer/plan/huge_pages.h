// Huge pages for large tables that are read at random.
//
// Mainland. Each miss of the translation cache costs as much as one of the data
// cache; with pages of 2 MiB, where the kernel gives them on request, tables of
// hundreds of megabytes have next to none, and a five-hundredth of the faults.

#ifndef HEAPTAPE_REPLAYER_PLAN_HUGE_PAGES_H_
#define HEAPTAPE_REPLAYER_PLAN_HUGE_PAGES_H_

#include <sys/mman.h>

#include <cstddef>
#include <new>

namespace heaptape {

// A std::allocator that asks for them. Small pieces begin at a cache line.
template <typename T>
struct HugePageAllocator {
  using value_type = T;

  HugePageAllocator() = default;
  template <typename U>
  HugePageAllocator(const HugePageAllocator<U>&) {}

  T* allocate(size_t count) {
    const size_t bytes = count * sizeof(T);
    void* memory = ::operator new(bytes, AlignmentOf(count));
    if (bytes >= kHugePage) madvise(memory, bytes & ~(kHugePage - 1), MADV_HUGEPAGE);
    return static_cast<T*>(memory);
  }
  void deallocate(T* memory, size_t count) { ::operator delete(memory, AlignmentOf(count)); }

  bool operator==(const HugePageAllocator&) const = default;

 private:
  static constexpr size_t kHugePage = 2 << 20;
  static constexpr size_t kCacheLine = 64;

  static std::align_val_t AlignmentOf(size_t count) {
    return std::align_val_t{count * sizeof(T) >= kHugePage ? kHugePage : kCacheLine};
  }
};

}  // namespace heaptape

#endif  // HEAPTAPE_REPLAYER_PLAN_HUGE_PAGES_H_
