#include "replayer/engine/glibc_heap.h"

#include <gnu/libc-version.h>
#include <link.h>

namespace heaptape {

namespace {

constexpr uint32_t kHeapFlags = RegionTable::kWritable | RegionTable::kReserved;
constexpr uint64_t kMallocStateBytes = 2200;
constexpr uint64_t kTcacheChunkBytes = 0x290;  // 64 counts of 2 bytes, 64 pointers: from 2.30 on
constexpr uint64_t kTcacheBins = 64;

// The thread-local variables of the object that contains `code`, in this thread.
struct TlsSearch {
  uint64_t code;
  uint64_t address;
  uint64_t bytes;
};

int FindTls(struct dl_phdr_info* object, size_t, void* argument) {
  TlsSearch* search = (TlsSearch*)argument;
  bool contains = false;
  uint64_t bytes = 0;
  for (int i = 0; i < object->dlpi_phnum; ++i) {
    const ElfW(Phdr)& segment = object->dlpi_phdr[i];
    const uint64_t lo = object->dlpi_addr + segment.p_vaddr;
    if (segment.p_type == PT_TLS) bytes = segment.p_memsz;
    if (segment.p_type == PT_LOAD && search->code >= lo && search->code < lo + segment.p_memsz) {
      contains = true;
    }
  }
  if (!contains) return 0;
  search->address = (uint64_t)object->dlpi_tls_data;
  search->bytes = bytes;
  return 1;
}

}  // namespace

void GlibcOwnBlocks::AddHeapHeads() {
  // Heads, in address order, of heaps that begin an arena, to size the others by.
  uint64_t heap_info_bytes = 0;
  for (int pass = 0; pass < 2; ++pass) {
    for (const RegionTable::Piece* p = table_.AtOrAbove(0); p != nullptr;
         p = table_.AtOrAbove(p->hi)) {
      if ((p->flags & kHeapFlags) != kHeapFlags) continue;
      const GlibcHeap& heap = *(const GlibcHeap*)p->lo;
      if (heap.size == 0 || heap.size > p->hi - p->lo) continue;
      const bool first = heap.arena - p->lo == 32 || heap.arena - p->lo == 48;
      if (first) heap_info_bytes = heap.arena - p->lo;
      if (pass == 0) continue;
      if (first) {
        // The first chunk begins where its block is aligned to 16.
        const uint64_t end = heap.arena + kMallocStateBytes;
        Add(p->lo, ((end + 15) & ~uint64_t{15}) - p->lo);
      } else {
        Add(p->lo, heap_info_bytes);
      }
    }
  }
}

void GlibcOwnBlocks::AddTcache(uint64_t fs_base) {
  if (tls_offset_ == 0) {
    TlsSearch search = {(uint64_t)&gnu_get_libc_version, 0, 0};
    dl_iterate_phdr(FindTls, &search);
    if (search.address == 0) return;
    tls_offset_ = search.address - (uint64_t)__builtin_thread_pointer();
    tls_bytes_ = search.bytes;
  }
  // `tcache` is one of them, and the only one that points to such a chunk.
  const uint64_t* variables = (const uint64_t*)(fs_base + tls_offset_);
  for (uint64_t i = 0; i < tls_bytes_ / sizeof(uint64_t); ++i) {
    const uint64_t block = variables[i];
    const RegionTable::Piece* piece = table_.Find(block);
    if (block % 16 != 0 || piece == nullptr || (piece->flags & RegionTable::kWritable) == 0 ||
        block < piece->lo + 16) {
      continue;
    }
    if ((((const uint64_t*)block)[-1] & ~uint64_t{7}) != kTcacheChunkBytes) continue;
    Add(block, kTcacheChunkBytes - 8);
    // It begins with how many chunks there are of 32 bytes, of 48, of 64 ...
    const uint16_t* counts = (const uint16_t*)block;
    for (uint64_t bin = 0; bin < kTcacheBins; ++bin) tcache_bytes_ += counts[bin] * (32 + 16 * bin);
    return;
  }
}

uint32_t GlibcOwnBlocks::Sort() {
  // Shell's sort: a few thousand, once a replay.
  for (uint32_t gap = count_ / 2; gap > 0; gap /= 2) {
    for (uint32_t i = gap; i < count_; ++i) {
      const Slot moved = blocks_[i];
      uint32_t at = i;
      for (; at >= gap && blocks_[at - gap].address > moved.address; at -= gap) {
        blocks_[at] = blocks_[at - gap];
      }
      blocks_[at] = moved;
    }
  }
  return count_;
}

void GlibcOwnBlocks::Add(uint64_t address, uint64_t bytes) {
  if (count_ < capacity_) blocks_[count_++] = {address, bytes};
}

}  // namespace heaptape
