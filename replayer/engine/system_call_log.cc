#include "replayer/engine/system_call_log.h"

#include <sys/mman.h>
#include <sys/syscall.h>

#include "replayer/engine/glibc_heap.h"

namespace heaptape {

namespace {

constexpr uint64_t kPageMask = 4095;
constexpr int kMremapDontUnmap = 4;

// Origins of mappings that nobody can use yet. They get a real number when they
// are first made writable: glibc, looking for an aligned place, may map and unmap
// a few before it keeps one, how many depends on the kernel's mood.
constexpr uint32_t kReservedOrigin = 1u << 31;

uint64_t PageUp(uint64_t bytes) { return (bytes + kPageMask) & ~kPageMask; }
bool Failed(long result) { return result < 0 && result > -4096; }
MemoryCall::Kind KindOf(long number) {
  switch (number) {
    case SYS_mmap:
      return MemoryCall::kMmap;
    case SYS_munmap:
      return MemoryCall::kMunmap;
    case SYS_mremap:
      return MemoryCall::kMremap;
    case SYS_mprotect:
      return MemoryCall::kMprotect;
    case SYS_madvise:
      return MemoryCall::kMadvise;
    default:
      return MemoryCall::kBrk;
  }
}
bool Writable(long protection) {
  return (protection & (PROT_READ | PROT_WRITE)) == (PROT_READ | PROT_WRITE);
}

}  // namespace

void SystemCallLog::Init(RegionTable* table, uint64_t heap_start, uint64_t heap_end,
                         bool glibc_heaps, const uint64_t* event) {
  table_ = table;
  event_ = event;
  glibc_heaps_ = glibc_heaps;
  heap_start_ = heap_end_ = heap_start;
  origins_ = reserved_ = 0;
  changes_ = 0;
  counts_ = {};
  peak_bytes_ = peak_event_ = peak_mappings_ = 0;
  last_ = {};
  shrunk_count_ = 0;
  OnBrk(heap_end);
}

bool SystemCallLog::IsMemoryCall(long number) {
  switch (number) {
    case SYS_brk:
    case SYS_mmap:
    case SYS_munmap:
    case SYS_mremap:
    case SYS_mprotect:
    case SYS_madvise:
      return true;
    default:
      return false;
  }
}

void SystemCallLog::Before(long number, const long arguments[6]) {
  last_ = {};
  last_.event = *event_;
  last_.bytes_before = Measure();
  last_.address = arguments[0];
  last_.bytes = arguments[1];
  last_.kind = KindOf(number);
  switch (number) {
    case SYS_brk:
      last_.bytes = heap_end_;  // the distance from it, once it has moved
      break;
    case SYS_mremap:
      last_.old_address = arguments[0];
      last_.bytes = arguments[2];
      break;
  }
  // Of what goes away this is the last chance to say what it was.
  NoteRegion(arguments[0]);
}

void SystemCallLog::After(long number, const long arguments[6], long result) {
  const bool failed = Failed(result);
  switch (number) {
    case SYS_brk:
      last_.address = result;
      last_.bytes = (uint64_t)result > last_.bytes ? result - last_.bytes : last_.bytes - result;
      if (arguments[0] != 0 && result != arguments[0]) last_.flags |= MemoryCall::kFailed;
      break;
    case SYS_mmap:
    case SYS_mremap:
      if (!failed) last_.address = result;
      break;
  }
  if (failed) last_.flags |= MemoryCall::kFailed;

  Apply(number, arguments, result);
  if (number == SYS_madvise) return;  // changes no mapping
  if (number != SYS_munmap && number != SYS_brk) NoteRegion(last_.address);
  ++changes_;
  last_.bytes_after = Measure();
  if (table_->mappings() > peak_mappings_) peak_mappings_ = table_->mappings();
}

void SystemCallLog::NoteRegion(uint64_t address) {
  const RegionTable::Piece* piece = last_.kind == MemoryCall::kBrk ? nullptr : table_->Find(address);
  last_.origin = last_.kind == MemoryCall::kBrk ? 0 : ~0u;
  last_.flags &= ~MemoryCall::kArenaHeap;
  if (piece == nullptr) return;
  if ((piece->origin & kReservedOrigin) == 0) last_.origin = piece->origin;
  if ((piece->flags & RegionTable::kReserved) != 0) last_.flags |= MemoryCall::kArenaHeap;
}

void SystemCallLog::Apply(long number, const long arguments[6], long result) {
  const uint64_t lo = arguments[0];
  const uint64_t hi = lo + PageUp(arguments[1]);
  switch (number) {
    case SYS_brk:
      ++counts_.brk;
      OnBrk(result);
      break;
    case SYS_mmap:
      ++counts_.mmap;
      if (!Failed(result)) OnMmap(arguments, result);
      break;
    case SYS_munmap:
      ++counts_.munmap;
      if (!Failed(result)) table_->Remove(lo, hi);
      break;
    case SYS_mremap:
      ++counts_.mremap;
      if (!Failed(result)) OnMremap(arguments, result);
      break;
    case SYS_mprotect:
      ++counts_.mprotect;
      if (!Failed(result)) OnMprotect(arguments);
      break;
    case SYS_madvise:
      ++counts_.madvise;
      // The heap writes down its new size only when the call has returned.
      last_.bytes_after = last_.bytes_before;
      if (!Failed(result) && arguments[2] == MADV_DONTNEED && NoteShrunk(lo, hi)) {
        last_.bytes_after -= hi - lo;
      }
      break;
  }
}

void SystemCallLog::AddEarlier(uint64_t lo, uint64_t hi) {
  // glibc aligns its arena heaps, and hardly anything else is so aligned.
  constexpr uint64_t kHeapAlignment = 64 << 20;
  const bool heap = glibc_heaps_ && lo % kHeapAlignment == 0;
  const uint32_t flags = heap ? uint32_t{RegionTable::kReserved} : 0;
  table_->Add({lo, hi, 0, ++origins_, RegionTable::kWritable | flags});
  if (heap) NoteShrunk(lo, hi);
  ++changes_;
}

uint64_t SystemCallLog::Measure() {
  uint64_t bytes = table_->writable_bytes();
  for (uint32_t i = 0; i < shrunk_count_;) {
    const RegionTable::Piece* piece = table_->Find(shrunk_[i]);
    const uint64_t end = piece == nullptr ? 0 : UsableEnd(*piece);
    if (piece == nullptr || end == piece->hi) {
      shrunk_[i] = shrunk_[--shrunk_count_];
    } else {
      bytes -= piece->hi - end;
      ++i;
    }
  }
  if (bytes > peak_bytes_) {
    peak_bytes_ = bytes;
    peak_event_ = *event_;
  }
  return bytes;
}

uint64_t SystemCallLog::UsableEnd(const RegionTable::Piece& piece) const {
  constexpr uint32_t kHeap = RegionTable::kWritable | RegionTable::kReserved;
  if (!glibc_heaps_ || (piece.flags & kHeap) != kHeap) return piece.hi;
  const uint64_t size = ((const GlibcHeap*)piece.lo)->size;
  // Anything else is no heap.
  if (size == 0 || (size & kPageMask) != 0 || size > piece.hi - piece.lo) return piece.hi;
  return piece.lo + size;
}

void SystemCallLog::OnBrk(uint64_t end) {
  if (end > heap_end_) {
    table_->Add({heap_end_, end, *event_, 0, RegionTable::kWritable});
  } else if (end < heap_end_ && end >= heap_start_) {
    table_->Remove(end, heap_end_);
  }
  if (end >= heap_start_) heap_end_ = end;
}

void SystemCallLog::OnMmap(const long arguments[6], uint64_t at) {
  const long flags = arguments[3];
  if ((flags & MAP_ANONYMOUS) == 0) return;
  const uint64_t hi = at + PageUp(arguments[1]);
  RegionTable::Piece piece = {at, hi, *event_, 0, 0};
  if ((flags & MAP_NORESERVE) != 0) piece.flags |= RegionTable::kNoReserve;
  if (Writable(arguments[2])) {
    piece.flags |= RegionTable::kWritable;
    piece.origin = ++origins_;
  } else {
    piece.flags |= RegionTable::kReserved;
    piece.origin = kReservedOrigin | ++reserved_;
    // Taking access away by mapping over, as glibc does to a shrunken heap
    // where memory is not overcommitted, makes nothing new.
    const RegionTable::Piece* old = table_->Find(at);
    if ((flags & MAP_FIXED) != 0 && old != nullptr) {
      piece.origin = old->origin;
      piece.birth_event = old->birth_event;
    }
  }
  table_->Add(piece);
}

void SystemCallLog::OnMremap(const long arguments[6], uint64_t at) {
  const uint64_t old_lo = arguments[0];
  const RegionTable::Piece* old = table_->Find(old_lo);
  if (old == nullptr) return;
  RegionTable::Piece piece = *old;  // keeps its origin and birth
  piece.lo = at;
  piece.hi = at + PageUp(arguments[2]);
  if ((arguments[3] & kMremapDontUnmap) == 0) {
    table_->Remove(old_lo, old_lo + PageUp(arguments[1]));
  }
  table_->Add(piece);
}

void SystemCallLog::OnMprotect(const long arguments[6]) {
  const uint64_t lo = arguments[0];
  const bool writable = Writable(arguments[2]);
  const RegionTable::Piece* piece = table_->Find(lo);
  if (piece != nullptr && writable) {
    // A heap that grows beyond what is writable holds all of it.
    const RegionTable::Piece* below = table_->Find(lo - 1);
    if (below != nullptr && below->origin == piece->origin) ForgetShrunk(below->lo);
    if ((piece->origin & kReservedOrigin) != 0) table_->Rename(lo, ++origins_);
  }
  table_->Protect(lo, lo + PageUp(arguments[1]), writable);
}

bool SystemCallLog::NoteShrunk(uint64_t lo, uint64_t hi) {
  constexpr uint32_t kHeap = RegionTable::kWritable | RegionTable::kReserved;
  const RegionTable::Piece* piece = table_->Find(lo);
  if (!glibc_heaps_ || piece == nullptr || (piece->flags & kHeap) != kHeap) return false;
  const uint64_t end = UsableEnd(*piece);
  if (hi != piece->hi && hi != end) return false;  // a hole in its middle
  ForgetShrunk(piece->lo);
  if (shrunk_count_ < kShrunkCapacity) shrunk_[shrunk_count_++] = piece->lo;
  return hi == end;
}

void SystemCallLog::ForgetShrunk(uint64_t heap) {
  for (uint32_t i = 0; i < shrunk_count_; ++i) {
    if (shrunk_[i] == heap) {
      shrunk_[i] = shrunk_[--shrunk_count_];
      return;
    }
  }
}

}  // namespace heaptape
