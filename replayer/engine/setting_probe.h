// SettingProbe: are glibc's settings in force?
//
// Island. glibc ignores a setting that it does not like without a word. So before a
// replay under settings, a process of its own, started exactly alike, asks the
// allocator for blocks until it shows what it goes by. Each probe gives one of
// ProbeResult; where values are beyond what can be tried, or another setting hides
// the effect, it is not probed.

#ifndef HEAPTAPE_REPLAYER_ENGINE_SETTING_PROBE_H_
#define HEAPTAPE_REPLAYER_ENGINE_SETTING_PROBE_H_

#include "replayer/engine/allocator.h"
#include "replayer/plan/instruction.h"

namespace heaptape {

// Answers `probes`, kProbedSettings of them, by way of `allocator`, which is glibc's.
// top_pad shows on a heap that is unused so far, and is not probed on another. The
// heap is of no use afterwards. Of `allocator`, malloc and free are called.
void ProbeSettings(const Allocator& allocator, ProbeSlot* probes);

}  // namespace heaptape

#endif  // HEAPTAPE_REPLAYER_ENGINE_SETTING_PROBE_H_
