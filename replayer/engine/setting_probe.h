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

// Answers shared->probes, by way of `allocator`, which is glibc's and unused so far.
void ProbeSettings(const Allocator& allocator, SharedHeader* shared);

}  // namespace heaptape

#endif  // HEAPTAPE_REPLAYER_ENGINE_SETTING_PROBE_H_
