// HeapCells: a heap as strips of cells, few enough to draw. Each cell stands for the
// same number of bytes of address space.
//
// Mainland. Thread-safe.
//
//   brk      ####.#..####....##.     a strip a region; mappings of single blocks,
//   mmap 3   ##....                  of which there may be thousands, share one
//   blocks   #######

#ifndef HEAPTAPE_ANALYSIS_HEAP_CELLS_H_
#define HEAPTAPE_ANALYSIS_HEAP_CELLS_H_

#include <cstddef>
#include <cstdint>
#include <vector>

#include "analysis/heap_map.h"

namespace heaptape {

struct HeapCell {
  static constexpr size_t kNone = ~size_t{0};

  uint64_t live_bytes = 0;  // of blocks
  uint64_t hole_bytes = 0;
  // The largest that reach into it, by their bytes in all: indexes into the blocks and
  // holes of the map.
  size_t block = kNone;
  size_t hole = kNone;
};

struct HeapStrip {
  uint32_t origin = 0;
  bool one_block = false;  // mappings of single blocks, one behind the other
  uint64_t bytes = 0;
  std::vector<HeapCell> cells;
};

struct HeapCells {
  uint64_t cell_bytes = kMapPageBytes;
  std::vector<HeapStrip> strips;
};

// About `cells` of them, and no more than twice as many, `strips` included.
HeapCells DivideHeap(const HeapMap& map, const std::vector<HeapBlock>& blocks, const std::vector<HeapRegion>& regions,
                     size_t cells);

}  // namespace heaptape

#endif  // HEAPTAPE_ANALYSIS_HEAP_CELLS_H_
