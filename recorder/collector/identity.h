// The header of a trace, from what the program left about itself in its image
// directory and from this machine.
//
// Mainland.

#ifndef HEAPTAPE_RECORDER_COLLECTOR_IDENTITY_H_
#define HEAPTAPE_RECORDER_COLLECTOR_IDENTITY_H_

#include "proto/trace.pb.h"
#include "recorder/collector/image.h"

namespace heaptape {

// Fields whose source is missing stay unset; nothing is an error.
Header IdentityOf(Image* image);

}  // namespace heaptape

#endif  // HEAPTAPE_RECORDER_COLLECTOR_IDENTITY_H_
