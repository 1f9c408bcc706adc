// MeasureTrim: what malloc_trim(0) really gives back, found by calling it.
//
// Mainland. Two replays of one plan, side by side, in which every page of a block is
// written to once, as most programs do; one of them calls malloc_trim(0) at its end.

#ifndef HEAPTAPE_ANALYSIS_TRIM_EFFECT_H_
#define HEAPTAPE_ANALYSIS_TRIM_EFFECT_H_

#include "absl/status/statusor.h"
#include "analysis/holes.h"
#include "replayer/driver/replay_settings.h"
#include "replayer/driver/replayer.h"

namespace heaptape {

absl::StatusOr<TrimEffect> MeasureTrim(Replayer* replayer, const ReplaySettings& settings);

}  // namespace heaptape

#endif  // HEAPTAPE_ANALYSIS_TRIM_EFFECT_H_
