// SystemCallLog: what the allocator holds from the kernel, call by call.
//
// Island; only the thread that replays (or the one it waits for) calls it, from
// the signal handler of system_call_watch.h; never allocates, uses no TLS.
//
// System bytes are the writable bytes of the region table, with one exception.
// A glibc arena heap shrinks by madvise(MADV_DONTNEED) on its tail and grows
// back without a call, its pages writable all along; what it holds is the size
// that it keeps in its first page. So a heap whose tail was given back is
// remembered, and its size read whenever a total is wanted, until it is whole
// again. Between two memory system calls system bytes can therefore only grow,
// and taking the total before and after each makes the peak exact.

#ifndef HEAPTAPE_REPLAYER_ENGINE_SYSTEM_CALL_LOG_H_
#define HEAPTAPE_REPLAYER_ENGINE_SYSTEM_CALL_LOG_H_

#include <stddef.h>
#include <stdint.h>

#include "replayer/engine/region_table.h"
#include "replayer/plan/instruction.h"

namespace heaptape {

class SystemCallLog {
 public:
  // The brk heap is [heap_start, heap_end) so far. `event` is where the number
  // of the current event is read.
  void Init(RegionTable* table, uint64_t heap_start, uint64_t heap_end, bool glibc_heaps,
            const uint64_t* event);

  // True if `number` is one that Before and After want to see.
  static bool IsMemoryCall(long number);
  // Around each such call. `result` as the kernel gave it.
  void Before(long number, const long arguments[6]);
  void After(long number, const long arguments[6], long result);

  // The call that After was last told of.
  const MemoryCall& last() const { return last_; }

  // A mapping whose system calls nobody saw.
  void AddEarlier(uint64_t lo, uint64_t hi);

  // System bytes now; takes note if they are a new peak.
  uint64_t Measure();

  // Where the writable part of `piece` that the allocator may use ends.
  uint64_t UsableEnd(const RegionTable::Piece& piece) const;

  const RegionTable& table() const { return *table_; }
  const SyscallCounts& counts() const { return counts_; }
  uint64_t heap_start() const { return heap_start_; }
  uint64_t peak_bytes() const { return peak_bytes_; }
  uint64_t peak_event() const { return peak_event_; }
  uint64_t peak_mappings() const { return peak_mappings_; }
  // Changes whenever the table does.
  uint64_t changes() const { return changes_; }

 private:
  // More heaps than this with a shrunken tail at once, and the rest are taken
  // to be whole: 4096 heaps are 256 GiB of address space.
  static constexpr uint32_t kShrunkCapacity = 4096;

  // Says in last_ which region `address` is in.
  void NoteRegion(uint64_t address);
  void Apply(long number, const long arguments[6], long result);
  void OnBrk(uint64_t end);
  void OnMmap(const long arguments[6], uint64_t at);
  void OnMremap(const long arguments[6], uint64_t at);
  void OnMprotect(const long arguments[6]);
  // True if the heap's end has moved from `hi` to `lo`.
  bool NoteShrunk(uint64_t lo, uint64_t hi);
  void ForgetShrunk(uint64_t heap);

  RegionTable* table_;
  const uint64_t* event_;
  bool glibc_heaps_;
  uint64_t heap_start_, heap_end_;
  uint32_t origins_;   // numbers given out
  uint32_t reserved_;  // numbers given to mappings without access, for the time being
  uint64_t changes_;
  SyscallCounts counts_;
  uint64_t peak_bytes_, peak_event_, peak_mappings_;
  MemoryCall last_;
  uint32_t shrunk_count_;
  uint64_t shrunk_[kShrunkCapacity];  // where those heaps begin
};

}  // namespace heaptape

#endif  // HEAPTAPE_REPLAYER_ENGINE_SYSTEM_CALL_LOG_H_
