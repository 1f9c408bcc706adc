// What glibc's malloc goes by, and where in a process it lies.
//
// Freestanding; the contract between the mainland and the two programs that look
// from inside, the witness and the probe. glibc keeps its parameters in one static
// structure (struct malloc_par, `mp_`), which has no symbol. Its fields lie in every
// process at the same distance from where that libc.so.6 is loaded.

#ifndef HEAPTAPE_VERIFIER_MALLOC_LAYOUT_H_
#define HEAPTAPE_VERIFIER_MALLOC_LAYOUT_H_

#include <stdint.h>

namespace heaptape {

enum MallocParameter : uint32_t {
  // Settings, named as tunables are behind "glibc.malloc.".
  kMmapThreshold,
  kTrimThreshold,
  kTopPad,
  kMmapMax,
  kArenaMax,
  kArenaTest,
  kTcacheCount,
  kTcacheMax,
  // What glibc notes beside them.
  kThresholdIsFixed,  // 1: mmap_threshold moves no more (no_dyn_threshold)
  kMmappedBlocks,     // with a mapping of their own, now
  kMostMmappedBlocks,
  kHeapStart,  // 0: the heap has not been used, and the settings not been read
};
inline constexpr uint32_t kMallocParameters = 12;
inline constexpr uint32_t kMallocSettings = 8;

inline constexpr const char* kMallocParameterNames[kMallocParameters] = {
    "mmap_threshold", "trim_threshold",     "top_pad",        "mmap_max",
    "arena_max",      "arena_test",         "tcache_count",   "tcache_max",
    "no_dyn_threshold", "n_mmaps", "max_n_mmaps", "sbrk_base"};

// These are int, the others words of 64 bits.
inline constexpr bool IsNarrow(uint32_t parameter) {
  return parameter == kMmapMax || parameter == kThresholdIsFixed || parameter == kMmappedBlocks ||
         parameter == kMostMmappedBlocks;
}

// By MallocParameter.
struct MallocLayout {
  uint64_t offsets[kMallocParameters];  // from libc's load address; 0: not found
};
struct MallocParameters {
  uint64_t values[kMallocParameters];  // 0 where the layout has no offset
};

// Under which the witness recognises the fields: values that nothing else in
// libc's data is likely to have, each in the range of every glibc since 2.26.
struct WitnessSetting {
  MallocParameter parameter;
  uint64_t value;
};
inline constexpr WitnessSetting kWitnessSettings[] = {
    {kMmapThreshold, 0x1abc0d0}, {kTrimThreshold, 0x5eed00dd0}, {kTopPad, 0x20b0d0},  {kMmapMax, 123457789},
    {kArenaMax, 0x5a5a7f1},      {kArenaTest, 0x3c3c7f3},       {kTcacheCount, 113}, {kTcacheMax, 1016}};

}  // namespace heaptape

#endif  // HEAPTAPE_VERIFIER_MALLOC_LAYOUT_H_
