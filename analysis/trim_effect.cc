#include "analysis/trim_effect.h"

#include <future>
#include <memory>

#include "replayer/driver/replayer.h"

namespace heaptape {
namespace {

absl::StatusOr<ReplayResult> Touched(const EventSourceFactory& trace, PlanOptions plan, ReplaySettings settings,
                                     bool trim) {
  plan.trim_at_end = trim;
  settings.touch = Touch::kPages;
  settings.check = false;
  const absl::StatusOr<std::unique_ptr<Replayer>> replayer = Replayer::Create(trace, plan);
  if (!replayer.ok()) return replayer.status();
  return (*replayer)->Run(settings);
}

}  // namespace

absl::StatusOr<TrimEffect> MeasureTrim(const EventSourceFactory& trace, const PlanOptions& plan,
                                       const ReplaySettings& settings) {
  std::future<absl::StatusOr<ReplayResult>> trimmed =
      std::async(std::launch::async, [&] { return Touched(trace, plan, settings, true); });
  const absl::StatusOr<ReplayResult> before = Touched(trace, plan, settings, false);
  const absl::StatusOr<ReplayResult> after = trimmed.get();
  if (!before.ok()) return before.status();
  if (!after.ok()) return after.status();
  return TrimEffect{.resident_bytes_before = before->resident_bytes,
                    .resident_bytes_after = after->resident_bytes,
                    .system_bytes_before = before->system_bytes,
                    .system_bytes_after = after->system_bytes};
}

}  // namespace heaptape
