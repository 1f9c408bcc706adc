// The engine's own address space, and the page faults that it causes itself.
//
// Island; any thread; never allocates. The engine's tables lie in mappings far
// below where the kernel puts what the allocator asks for, so that the
// allocator's mappings come out as they would without an engine.
//
// The engine reports the allocator's minor faults: all of the process's less its
// own. It therefore makes its own pages present before it uses them, and counts
// the faults of doing so.

#ifndef HEAPTAPE_REPLAYER_ENGINE_OWN_PAGES_H_
#define HEAPTAPE_REPLAYER_ENGINE_OWN_PAGES_H_

#include <stddef.h>
#include <stdint.h>

namespace heaptape {

inline constexpr uint64_t kPageBytes = 4096;

// Zeroed memory, or null. Only reserved: pages come with use or PrepareOwn.
void* MapOwn(size_t bytes);

// `bytes` of the file behind `fd` from `offset` on, or null. A page of zeros
// follows, so that reading a little beyond the end is harmless.
void* MapOwnFile(int fd, uint64_t offset, size_t bytes, bool writable);

// Where `bytes` of a file can be mapped piece by piece, as they are needed: limits on
// address space count what is mapped. `at` is in such a place.
void* PlaceOwnFile(size_t bytes);
bool MapOwnFileAt(void* at, int fd, uint64_t offset, size_t bytes, bool writable);

// True for an address in any of these mappings.
bool IsOwn(uint64_t address);

// Makes pages of such a mapping present, written to if it is for writing.
void PrepareOwn(void* memory, size_t bytes);
void PrepareOwnForReading(const void* memory, size_t bytes);

// Takes pages of a mapped file out of memory, as far as this process holds them there;
// the file keeps what it has. A last page of which only a part is named stays.
void ReleaseOwnFile(const void* memory, size_t bytes);

// Minor faults of the process so far, and those that Prepare* caused.
uint64_t MinorFaults();
uint64_t OwnMinorFaults();

// CLOCK_MONOTONIC in nanoseconds.
uint64_t NowNs();

}  // namespace heaptape

#endif  // HEAPTAPE_REPLAYER_ENGINE_OWN_PAGES_H_
