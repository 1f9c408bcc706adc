// ProcessMaps: private anonymous memory, as /proc/self/maps lists it.
//
// Island; never allocates. Used before the first instruction (what did a
// preloaded allocator map while it was loaded?) and, where the kernel has no
// syscall user dispatch, at the end instead of a log.

#ifndef HEAPTAPE_REPLAYER_ENGINE_PROCESS_MAPS_H_
#define HEAPTAPE_REPLAYER_ENGINE_PROCESS_MAPS_H_

#include <stdint.h>

namespace heaptape {

// Calls visit(lo, hi, context) for each readable, writable, private mapping that
// is anonymous or the brk heap, the engine's own, the stack, the memory right
// behind an object's data (its .bss) and that of `fs_base` excepted. False if the
// file cannot be read.
bool VisitAnonymousMaps(uint64_t fs_base, void (*visit)(uint64_t lo, uint64_t hi, void* context),
                        void* context);

// One line of the file. Here for its test.
struct MapsLine {
  uint64_t lo, hi;
  bool read_write_private;
  bool anonymous;  // no file, and no name but [heap]
  bool heap;
};
// False if the text up to `end` is no such line.
bool ParseMapsLine(const char* text, const char* end, MapsLine* line);

}  // namespace heaptape

#endif  // HEAPTAPE_REPLAYER_ENGINE_PROCESS_MAPS_H_
