// The report of `heaptape holes` to read, and to paste into a ticket.
//
// Mainland. Thread-safe.

#ifndef HEAPTAPE_ANALYSIS_HOLES_TEXT_H_
#define HEAPTAPE_ANALYSIS_HOLES_TEXT_H_

#include <cstdint>
#include <string>

#include "analysis/holes.h"

namespace heaptape {

std::string HolesText(const HolesReport& report);

// What system bytes are made of: usable, overhead, holes, and the sum.
std::string HeapTotalsText(const HolesReport& report);

// "brk" or "mmap 17": a region by what made it.
std::string RegionName(uint32_t origin);

// "17 t2 calloc(100)": a block by its event, as `heaptape cat` numbers and writes
// it; `none` where there is nothing.
std::string NeighbourText(const Neighbour& neighbour, const char* none);

}  // namespace heaptape

#endif  // HEAPTAPE_ANALYSIS_HOLES_TEXT_H_
