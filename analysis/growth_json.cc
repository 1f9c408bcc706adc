#include "analysis/growth_json.h"

#include "analysis/growth_text.h"
#include "analysis/holes_json.h"
#include "analysis/holes_text.h"

namespace heaptape {
namespace {

using nlohmann::ordered_json;

ordered_json StepJson(const GrowthCall& growth) {
  const GrowthStep& step = growth.step;
  return {{"bytes", step.bytes},
          {"system_bytes", step.system_bytes},
          {"event", step.event},
          {"last_event", step.last_event},
          {"steps", step.steps},
          {"call", EventName(growth.call.kind)},
          {"requested_bytes", growth.call.size},
          {"thread", growth.call.thread},
          {"grew", GrewText(step)},
          {"region", step.origin == GrowthStep::kNoOrigin ? ordered_json() : ordered_json(RegionName(step.origin))}};
}

const char* RoleName(StoryCall::Role role) {
  switch (role) {
    case StoryCall::Role::kMade: return "made";
    case StoryCall::Role::kPinned: return "pinned";
    case StoryCall::Role::kGone: return "gone";
    case StoryCall::Role::kOnTheWay: return "on the way";
    case StoryCall::Role::kGrew: return "grew";
  }
  return "";
}

ordered_json StoryJson(const HoleStory& story) {
  ordered_json calls = ordered_json::array();
  for (const StoryCall& call : story.calls) {
    calls.push_back({{"event", call.event},
                     {"role", RoleName(call.role)},
                     {"thread", call.thread},
                     {"call", EventName(call.call)},
                     {"bytes", call.bytes},
                     {"old_bytes", call.old_bytes == 0 ? ordered_json() : ordered_json(call.old_bytes)}});
    if (call.role == StoryCall::Role::kPinned) calls.back()["gap_bytes"] = call.gap_bytes;
  }
  return {{"pin_event", story.pin_event},
          {"gone_event", story.gone_event == 0 ? ordered_json() : ordered_json(story.gone_event)},
          {"calls", calls}};
}

ordered_json RoomJson(const RoomDetail& detail) {
  constexpr const char* kKinds[] = {"hole", "in place", "end of region"};
  return {{"bytes", detail.room.bytes},
          {"missing_bytes", detail.room.missing_bytes},
          {"place", kKinds[static_cast<size_t>(detail.room.kind)]},
          {"region", RegionName(detail.origin)},
          {"offset", detail.offset},
          {"before", NeighbourJson(detail.before)},
          {"pinned_by", NeighbourJson(detail.pinned_by)}};
}

ordered_json ReasonJson(const GrowthReason& reason) {
  ordered_json nearest = ordered_json::array();
  for (const RoomDetail& detail : reason.nearest) nearest.push_back(RoomJson(detail));
  return {{"step", StepJson(reason.growth)},
          {"wanted_bytes", reason.wanted_bytes},
          {"system_bytes_before", reason.system_bytes},
          {"usable_bytes_before", reason.usable_bytes},
          {"hole_bytes", reason.rooms.hole_bytes},
          {"hole_count", reason.rooms.hole_count},
          {"fitting_count", reason.rooms.fitting_count},
          {"fitting_elsewhere_count", reason.rooms.fitting_elsewhere_count},
          {"nearest", nearest},
          {"story", reason.story.has_value() ? StoryJson(*reason.story) : ordered_json()}};
}

}  // namespace

ordered_json GrowthJson(const GrowthReport& report) {
  ordered_json steps = ordered_json::array();
  for (const GrowthCall& growth : report.largest) steps.push_back(StepJson(growth));
  ordered_json reasons = ordered_json::array();
  for (const GrowthReason& reason : report.reasons) reasons.push_back(ReasonJson(reason));
  return {{"at_event", report.at_event},
          {"system_bytes", report.system_bytes},
          {"up_bytes", report.up_bytes},
          {"down_bytes", report.down_bytes},
          {"step_count", report.step_count},
          {"digest", report.digest.empty() ? ordered_json() : ordered_json(report.digest)},
          {"steps", steps},
          {"reasons", reasons}};
}

}  // namespace heaptape
