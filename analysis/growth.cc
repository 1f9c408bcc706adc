#include "analysis/growth.h"

#include <algorithm>
#include <utility>

#include "analysis/replay_heap.h"

namespace heaptape {
namespace {

// One heap grew by one call, and might have found room instead.
bool IsHeapStep(const GrowthStep& step) {
  return step.steps == 1 && step.event > 0 &&
         (step.kind == GrowthStep::Kind::kBrk || (step.kind == GrowthStep::Kind::kMprotect && step.arena_heap));
}

// Whether, lately before `step`, as much was free as it took: then why it grew is worth
// asking. Not just before: a block that grows in several calls, or moves, is in the way of
// itself. By the last sample before the step and those not long before that.
bool HadRoom(const GrowthStep& step, const std::vector<TimelinePoint>& timeline) {
  constexpr uint64_t kLately = 256;  // events
  auto point = std::lower_bound(timeline.begin(), timeline.end(), step.event,
                                [](const TimelinePoint& point, uint64_t event) { return point.event < event; });
  if (point == timeline.begin()) return step.system_bytes - step.bytes >= step.bytes;
  uint64_t usable = (--point)->usable_bytes;
  while (point != timeline.begin() && (--point)->event + kLately >= step.event) {
    usable = std::min(usable, point->usable_bytes);
  }
  return step.system_bytes - step.bytes >= usable + step.bytes;
}

RoomDetail DetailOf(const Room& room, const ReplayHeap& heap) {
  const HeapRegion& region = heap.regions[room.region];
  return {.room = room,
          .origin = region.origin,
          .offset = room.address - region.lo,
          .before = NeighbourAt(room.before, heap.blocks),
          .pinned_by = NeighbourAt(room.pinned_by, heap.blocks)};
}

class Growth {
 public:
  Growth(const EventSourceFactory& trace, const ReplayFunction& replay, const PlanOptions& plan,
         const GrowthOptions& options)
      : trace_(trace), replay_(replay), plan_(plan), options_(options) {}

  absl::StatusOr<GrowthReport> Find(ReplayResult* first) {
    absl::StatusOr<ReplayResult> all = replay_(plan_);
    if (!all.ok()) return all.status();
    if (!all->settings.syscalls_seen) {
      return absl::UnimplementedError(
          "this kernel does not show the allocator's system calls, so when it grew is not known");
    }
    GrowthReport report;
    report.digest = DigestText(all->digest);
    report.at_event = all->events_done;
    report.system_bytes = all->system_bytes;
    std::vector<GrowthStep> steps = all->growth;
    for (const GrowthStep& step : steps) {
      report.step_count += step.steps;
      report.up_bytes += step.bytes;
    }
    report.up_bytes = std::max(report.up_bytes, report.system_bytes);
    report.down_bytes = report.up_bytes - report.system_bytes;
    std::stable_sort(steps.begin(), steps.end(),
                     [](const GrowthStep& a, const GrowthStep& b) { return a.bytes > b.bytes; });
    const std::vector<TimelinePoint> timeline = all->timeline;
    if (first != nullptr) *first = *std::move(all);

    absl::StatusOr<std::vector<GrowthCall>> explained = Choose(steps, timeline, &report.largest);
    if (!explained.ok()) return explained.status();
    for (const GrowthCall& growth : *explained) {
      absl::StatusOr<GrowthReason> reason = Explain(growth);
      if (!reason.ok()) return reason.status();
      report.reasons.push_back(*std::move(reason));
    }
    return report;
  }

 private:
  // Those to list, and those to explain, with their calls: of the latter first those
  // that had room, by size.
  absl::StatusOr<std::vector<GrowthCall>> Choose(const std::vector<GrowthStep>& steps,
                                                 const std::vector<TimelinePoint>& timeline,
                                                 std::vector<GrowthCall>* listed) {
    std::vector<GrowthCall> explained;
    for (const bool had_room : {true, false}) {
      for (const GrowthStep& step : steps) {
        if (explained.size() == options_.explained) break;
        if (IsHeapStep(step) && HadRoom(step, timeline) == had_room) explained.push_back({step, {}});
      }
    }
    for (const GrowthStep& step : steps) {
      if (listed->size() < options_.steps) listed->push_back({step, {}});
    }
    std::vector<uint64_t> events;
    for (const auto* calls : {listed, &explained}) {
      for (const GrowthCall& growth : *calls) events.push_back(growth.step.event);
    }
    std::sort(events.begin(), events.end());
    events.erase(std::unique(events.begin(), events.end()), events.end());
    const absl::StatusOr<std::vector<Event>> found = CallsAt(trace_, events);
    if (!found.ok()) return found.status();
    for (auto* calls : {listed, &explained}) {
      for (GrowthCall& growth : *calls) {
        const auto at = std::lower_bound(events.begin(), events.end(), growth.step.event);
        growth.call = (*found)[static_cast<size_t>(at - events.begin())];
      }
    }
    return explained;
  }

  absl::StatusOr<ReplayResult> ReplayUntil(uint64_t event) {
    PlanOptions plan = plan_;
    plan.until_event = event;
    return replay_(plan);
  }

  absl::StatusOr<GrowthReason> Explain(const GrowthCall& growth) {
    GrowthReason reason;
    reason.growth = growth;
    if (growth.step.event == 1) return reason;  // nothing was there
    const absl::StatusOr<ReplayResult> before = ReplayUntil(growth.step.event - 1);
    if (!before.ok()) return before.status();
    const absl::StatusOr<ReplayHeap> heap = MapReplay(*before);
    if (!heap.ok()) return heap.status();
    reason.system_bytes = heap->map.system_bytes;
    reason.usable_bytes = heap->map.usable_bytes;

    RoomRequest request = {.bytes = growth.call.size,
                           .alignment_log2 = growth.call.alignment_log2,
                           .origin = growth.step.origin};
    if (growth.call.old_address != 0) {
      const auto old = std::find_if(before->blocks.begin(), before->blocks.end(), [&](const LiveBlock& block) {
        return block.recorded_address == growth.call.old_address;
      });
      if (old != before->blocks.end()) request.old_block = static_cast<size_t>(old - before->blocks.begin());
    }
    reason.wanted_bytes = BytesLookedFor(heap->layout, request);
    reason.rooms = FindRoom(heap->map, heap->blocks, heap->regions, heap->layout, request, options_.rooms);
    for (const Room& room : reason.rooms.nearest) reason.nearest.push_back(DetailOf(room, *heap));

    if (reason.nearest.empty() || reason.nearest[0].pinned_by.kind != Neighbour::Kind::kBlock) return reason;
    const Room& nearest = reason.nearest[0].room;
    if (nearest.missing_bytes == 0) return reason;
    const LiveBlock& pin = before->blocks[static_cast<size_t>(nearest.pinned_by)];
    if (pin.event == 0) return reason;
    const absl::StatusOr<ReplayResult> then = ReplayUntil(pin.event);
    if (!then.ok()) return then.status();
    absl::StatusOr<HoleStory> story =
        TellStory(trace_, *then, nearest.address, pin, growth.step.event, growth.call);
    if (!story.ok()) return story.status();
    reason.story = *std::move(story);
    return reason;
  }

  const EventSourceFactory& trace_;
  const ReplayFunction& replay_;
  const PlanOptions plan_;
  const GrowthOptions options_;
};

}  // namespace

absl::StatusOr<GrowthReport> FindGrowth(const EventSourceFactory& trace, const ReplayFunction& replay,
                                        const PlanOptions& plan, const GrowthOptions& options, ReplayResult* first) {
  return Growth(trace, replay, plan, options).Find(first);
}

}  // namespace heaptape
