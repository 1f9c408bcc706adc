#include "analysis/trim_effect.h"

#include <future>

namespace heaptape {
namespace {

absl::StatusOr<ReplayResult> Touched(Replayer* replayer, ReplaySettings settings, bool trim) {
  settings.trim_at_end = trim;
  settings.settle_ms = 0;
  settings.touch = Touch::kPages;
  settings.check = false;
  return replayer->Run(settings);
}

}  // namespace

absl::StatusOr<TrimEffect> MeasureTrim(Replayer* replayer, const ReplaySettings& settings) {
  std::future<absl::StatusOr<ReplayResult>> trimmed =
      std::async(std::launch::async, [&] { return Touched(replayer, settings, true); });
  const absl::StatusOr<ReplayResult> before = Touched(replayer, settings, false);
  const absl::StatusOr<ReplayResult> after = trimmed.get();
  if (!before.ok()) return before.status();
  if (!after.ok()) return after.status();
  return TrimEffect{.resident_bytes_before = before->resident_bytes,
                    .resident_bytes_after = after->resident_bytes,
                    .system_bytes_before = before->system_bytes,
                    .system_bytes_after = after->system_bytes};
}

}  // namespace heaptape
