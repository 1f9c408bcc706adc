// The header of a trace, from what the program left about itself in its image
// directory and from this machine.
//
// Mainland.

#ifndef HEAPTAPE_RECORDER_COLLECTOR_IDENTITY_H_
#define HEAPTAPE_RECORDER_COLLECTOR_IDENTITY_H_

#include <string>

#include "proto/trace.pb.h"
#include "recorder/collector/image.h"

namespace heaptape {

// Directory of the memory control group (of either version) in the text of a
// /proc/PID/cgroup; empty if there is none.
std::string MemoryCgroup(const std::string& cgroup);

// Fields whose source is missing stay unset; nothing is an error.
Header IdentityOf(Image* image);

}  // namespace heaptape

#endif  // HEAPTAPE_RECORDER_COLLECTOR_IDENTITY_H_
