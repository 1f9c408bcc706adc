// PythonNote: what a recording of CPython does not show.
//
// Mainland; a function of the header. CPython serves small blocks from an allocator of
// its own in front of malloc, so a recording of malloc's calls misses most of what
// a Python program does.

#ifndef HEAPTAPE_ANALYSIS_PYTHON_NOTE_H_
#define HEAPTAPE_ANALYSIS_PYTHON_NOTE_H_

#include <string>

#include "proto/trace.pb.h"

namespace heaptape {

// What is missing, how to have it recorded, and what that costs, as a sentence
// without its full stop. Empty unless CPython 3 was recorded with its own allocator on.
std::string PythonNote(const Header& header);

}  // namespace heaptape

#endif  // HEAPTAPE_ANALYSIS_PYTHON_NOTE_H_
