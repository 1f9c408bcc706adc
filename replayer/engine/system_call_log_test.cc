#include "replayer/engine/system_call_log.h"

#include <sys/mman.h>
#include <sys/syscall.h>

#include <algorithm>
#include <cstdlib>
#include <initializer_list>
#include <memory>
#include <vector>

#include "gtest/gtest.h"
#include "replayer/engine/glibc_heap.h"

namespace heaptape {
namespace {

constexpr uint64_t kPage = 4096;
constexpr uint64_t kHeapStart = 0x5555'5556'0000;
constexpr long kReadWrite = PROT_READ | PROT_WRITE;
constexpr long kAnonymous = MAP_PRIVATE | MAP_ANONYMOUS;

class SystemCallLogTest : public testing::Test {
 protected:
  SystemCallLogTest()
      : blocks_(new RegionTable::Block[64]), table_(new RegionTable), log_(new SystemCallLog) {
    table_->Init(blocks_.get(), nullptr);
    log_->Init(table_.get(), kHeapStart, kHeapStart, true, &event_);
  }

  void Call(uint64_t event, long number, std::initializer_list<uint64_t> arguments, long result) {
    event_ = event;
    long all[6] = {};
    std::copy(arguments.begin(), arguments.end(), all);
    log_->Before(number, all);
    log_->After(number, all, result);
  }

  std::unique_ptr<RegionTable::Block[]> blocks_;
  std::unique_ptr<RegionTable> table_;
  std::unique_ptr<SystemCallLog> log_;
  uint64_t event_ = 0;
};

TEST_F(SystemCallLogTest, BrkGrowsAndShrinks) {
  Call(1, SYS_brk, {0}, kHeapStart);
  Call(2, SYS_brk, {kHeapStart + 10 * kPage}, kHeapStart + 10 * kPage);
  Call(3, SYS_brk, {kHeapStart + 30 * kPage}, kHeapStart + 10 * kPage);  // refused
  EXPECT_EQ(log_->Measure(), 10 * kPage);
  Call(4, SYS_brk, {kHeapStart + 3 * kPage}, kHeapStart + 3 * kPage);
  EXPECT_EQ(log_->Measure(), 3 * kPage);
  EXPECT_EQ(log_->peak_bytes(), 10 * kPage);
  EXPECT_EQ(log_->peak_event(), 2u);
  EXPECT_EQ(log_->counts().brk, 4u);
  EXPECT_EQ(table_->pieces(), 1u);
  EXPECT_EQ(table_->Find(kHeapStart)->origin, 0u);
}

TEST_F(SystemCallLogTest, MappingsComeMoveAndGo) {
  Call(1, SYS_mmap, {0, 5000, kReadWrite, kAnonymous, ~0ul, 0}, 0x10000);
  EXPECT_EQ(log_->Measure(), 2 * kPage);
  Call(2, SYS_mremap, {0x10000, 2 * kPage, 5 * kPage, MREMAP_MAYMOVE}, 0x40000);
  EXPECT_EQ(table_->Find(0x10000), nullptr);
  EXPECT_EQ(table_->Find(0x40000)->hi, 0x40000 + 5 * kPage);
  EXPECT_EQ(table_->Find(0x40000)->origin, 1u);
  EXPECT_EQ(table_->Find(0x40000)->birth_event, 1u);
  Call(3, SYS_munmap, {0x40000, 5 * kPage}, 0);
  EXPECT_EQ(log_->Measure(), 0u);
  EXPECT_EQ(log_->peak_bytes(), 5 * kPage);
  Call(4, SYS_mmap, {0, kPage, kReadWrite, kAnonymous}, -12);            // ENOMEM
  Call(5, SYS_mmap, {0, kPage, PROT_READ, MAP_PRIVATE, 7, 0}, 0x10000);  // a file
  EXPECT_EQ(table_->pieces(), 0u);
  EXPECT_EQ(log_->counts().mmap, 3u);
}

// Numbers do not depend on how many places glibc tried for an aligned heap.
TEST_F(SystemCallLogTest, OriginsAreCountedWhenUsable) {
  Call(1, SYS_mmap, {0, 16 * kPage, PROT_NONE, kAnonymous | MAP_NORESERVE}, 0x100000);
  Call(1, SYS_munmap, {0x100000, 16 * kPage}, 0);
  Call(1, SYS_mmap, {0, 32 * kPage, PROT_NONE, kAnonymous | MAP_NORESERVE}, 0x200000);
  Call(1, SYS_munmap, {0x200000, 4 * kPage}, 0);
  Call(1, SYS_mprotect, {0x204000, kPage, kReadWrite}, 0);
  Call(2, SYS_mmap, {0, kPage, kReadWrite, kAnonymous}, 0x900000);
  EXPECT_EQ(table_->Find(0x204000)->origin, 1u);
  EXPECT_EQ(table_->Find(0x205000)->origin, 1u);
  EXPECT_EQ(table_->Find(0x900000)->origin, 2u);
  EXPECT_EQ(log_->Measure(), 2 * kPage);
  EXPECT_EQ(log_->peak_mappings(), 3u);
}

// A heap in real memory, because its size is read there.
TEST_F(SystemCallLogTest, AnArenaHeapHoldsWhatItSays) {
  const uint64_t bytes = 16 * kPage;
  void* memory = std::aligned_alloc(kPage, bytes);
  const uint64_t lo = reinterpret_cast<uint64_t>(memory);
  GlibcHeap* heap = static_cast<GlibcHeap*>(memory);
  Call(1, SYS_mmap, {0, bytes, PROT_NONE, kAnonymous | MAP_NORESERVE}, lo);
  Call(1, SYS_mprotect, {lo, 8 * kPage, kReadWrite}, 0);
  heap->size = 8 * kPage;
  EXPECT_EQ(log_->Measure(), 8 * kPage);

  Call(5, SYS_madvise, {lo + 3 * kPage, 5 * kPage, MADV_DONTNEED}, 0);
  heap->size = 3 * kPage;
  EXPECT_EQ(log_->Measure(), 3 * kPage);
  EXPECT_EQ(log_->UsableEnd(*table_->Find(lo)), lo + 3 * kPage);
  heap->size = 7 * kPage;  // back, without a call
  EXPECT_EQ(log_->Measure(), 7 * kPage);
  Call(6, SYS_madvise, {lo + 2 * kPage, 5 * kPage, MADV_DONTNEED}, 0);
  heap->size = 2 * kPage;
  EXPECT_EQ(log_->Measure(), 2 * kPage);

  // Grows beyond what was writable: the size follows the call.
  Call(9, SYS_mprotect, {lo + 8 * kPage, 4 * kPage, kReadWrite}, 0);
  EXPECT_EQ(log_->peak_bytes(), 12 * kPage);
  EXPECT_EQ(log_->peak_event(), 9u);
  heap->size = 12 * kPage;
  EXPECT_EQ(log_->Measure(), 12 * kPage);
  std::free(memory);
}

}  // namespace
}  // namespace heaptape
