// What became of a recording, as one line.
//
// Mainland. Thread-safe.

#ifndef HEAPTAPE_TOOLS_RECORDING_TEXT_H_
#define HEAPTAPE_TOOLS_RECORDING_TEXT_H_

#include <string>

#include "recorder/collector/recording.h"

namespace heaptape {

// "x.heaptape: 17 events, 1.20 bytes a call, lost 0", and what went wrong.
std::string RecordingText(const RecordingSummary& recording);

}  // namespace heaptape

#endif  // HEAPTAPE_TOOLS_RECORDING_TEXT_H_
