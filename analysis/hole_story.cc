#include "analysis/hole_story.h"

#include <algorithm>
#include <deque>
#include <memory>

#include "absl/container/flat_hash_map.h"

namespace heaptape {
namespace {

// Of the blocks that lay in the hole, this many are told of, the largest.
constexpr size_t kBlocksTold = 4;
// Calls on the way: this many, of at least a sixteenth of what the heap grew for.
constexpr size_t kCallsTold = 8;
constexpr uint64_t kLargePart = 16;

// Calls visit(number, event) for each event up to `last`, realloc_end with its old
// address filled in, until it returns false.
template <typename Visit>
absl::Status ForEachEvent(const EventSourceFactory& trace, uint64_t last, const Visit& visit) {
  absl::StatusOr<std::unique_ptr<EventSource>> source = trace();
  if (!source.ok()) return source.status();
  absl::flat_hash_map<uint32_t, std::vector<uint64_t>> begun;  // by thread, the innermost last
  std::vector<Event> events;
  for (;;) {
    const absl::StatusOr<bool> more = (*source)->Next(&events);
    if (!more.ok()) return more.status();
    if (!*more) return absl::OkStatus();
    uint64_t number = (*source)->first_event();
    for (Event& event : events) {
      if (number > last) return absl::OkStatus();
      if (event.kind == EventKind::kReallocBegin) {
        begun[event.thread].push_back(event.old_address);
      } else if (event.kind == EventKind::kReallocEnd) {
        std::vector<uint64_t>& open = begun[event.thread];
        if (!open.empty()) {
          event.old_address = open.back();
          open.pop_back();
        }
      }
      if (!visit(number, event)) return absl::OkStatus();
      ++number;
    }
  }
}

// One pass over the trace: the end of the blocks asked about, and large calls.
class Scan {
 public:
  struct Resident {
    const LiveBlock* block;
    StoryCall gone;
  };

  Scan(uint64_t pin_event, uint64_t growth_event, const Event& growth)
      : pin_event_(pin_event),
        growth_event_(growth_event),
        growth_thread_(growth.thread),
        large_bytes_(std::max<uint64_t>(growth.size / kLargePart, 1)) {}

  void Watch(const LiveBlock& block) { residents_[block.recorded_address] = {&block, {}}; }

  absl::Status Run(const EventSourceFactory& trace) {
    return ForEachEvent(trace, growth_event_, [this](uint64_t number, const Event& event) {
      Visit(number, event);
      return true;
    });
  }

  // All those watched that went, in no order.
  const std::vector<StoryCall>& gone() const { return gone_; }
  const std::deque<StoryCall>& on_the_way() const { return on_the_way_; }
  uint64_t old_bytes_of_growth() const { return old_bytes_of_growth_; }
  size_t remaining() const { return residents_.size(); }

 private:
  void Visit(uint64_t number, const Event& event) {
    StoryCall call = {.role = StoryCall::Role::kOnTheWay,
                      .event = number,
                      .thread = event.thread,
                      .call = event.kind,
                      .bytes = event.size};
    const bool frees = event.kind == EventKind::kFree;
    const uint64_t released = frees ? event.address : event.old_address;
    bool large = false;
    if (released != 0 && (frees || event.kind == EventKind::kRealloc || event.kind == EventKind::kReallocEnd)) {
      if (const auto found = large_.find(released); found != large_.end()) {
        (frees ? call.bytes : call.old_bytes) = found->second;
        large = true;
        large_.erase(found);
      } else if (frees) {
        call.bytes = 0;
      }
      if (number > pin_event_) NoteGone(released, call);
    }
    if (number == growth_event_) {
      old_bytes_of_growth_ = call.old_bytes;
      return;
    }
    if (IsAllocation(event.kind) && event.size >= large_bytes_) {
      if (event.address != 0) large_[event.address] = event.size;
      large = true;
    }
    if (large && event.thread == growth_thread_) {
      on_the_way_.push_back(call);
      if (on_the_way_.size() > kCallsTold) on_the_way_.pop_front();
    }
  }

  void NoteGone(uint64_t address, StoryCall call) {
    const auto found = residents_.find(address);
    if (found == residents_.end()) return;
    call.role = StoryCall::Role::kGone;
    const uint64_t bytes = found->second.block->requested_bytes;
    (call.call == EventKind::kFree ? call.bytes : call.old_bytes) = bytes;
    gone_.push_back(call);
    residents_.erase(found);
  }

  const uint64_t pin_event_;
  const uint64_t growth_event_;
  const uint32_t growth_thread_;
  const uint64_t large_bytes_;
  absl::flat_hash_map<uint64_t, Resident> residents_;  // by recorded address
  absl::flat_hash_map<uint64_t, uint64_t> large_;      // live: recorded address, bytes
  std::vector<StoryCall> gone_;
  std::deque<StoryCall> on_the_way_;
  uint64_t old_bytes_of_growth_ = 0;
};

uint64_t EventOf(const StoryCall& call) { return call.event; }

}  // namespace

absl::StatusOr<std::vector<Event>> CallsAt(const EventSourceFactory& trace, absl::Span<const uint64_t> events) {
  std::vector<Event> calls(events.size());
  if (events.empty()) return calls;
  size_t next = 0;
  const absl::Status status = ForEachEvent(trace, events.back(), [&](uint64_t number, const Event& event) {
    while (next < events.size() && events[next] < number) ++next;
    while (next < events.size() && events[next] == number) calls[next++] = event;
    return next < events.size();
  });
  if (!status.ok()) return status;
  return calls;
}

absl::StatusOr<HoleStory> TellStory(const EventSourceFactory& trace, const ReplayResult& then, uint64_t lo,
                                    const LiveBlock& pin, uint64_t growth_event, const Event& growth) {
  HoleStory story;
  story.pin_event = pin.event;
  const auto pin_then = std::find_if(then.blocks.begin(), then.blocks.end(),
                                     [&](const LiveBlock& block) { return block.event == pin.event; });
  if (pin_then == then.blocks.end()) return absl::InternalError("the block that pins the hole is not there");
  // Where addresses are randomised, heaps lie elsewhere each time.
  const uint64_t lo_then = lo - pin.address + pin_then->address;

  Scan scan(pin.event, growth_event, growth);
  std::vector<const LiveBlock*> residents;
  for (auto block = pin_then; block != then.blocks.begin();) {
    --block;
    if (block->address + block->usable_bytes <= lo_then) break;
    residents.push_back(&*block);
    scan.Watch(*block);
  }
  story.blocks_then = residents.size();
  StoryCall pinned = {.role = StoryCall::Role::kPinned,
                      .event = pin.event,
                      .thread = pin.thread,
                      .call = pin.kind,
                      .bytes = pin.requested_bytes};
  if (!residents.empty()) {
    pinned.gap_bytes = pin_then->address - (residents[0]->address + residents[0]->requested_bytes);
  }
  if (absl::Status status = scan.Run(trace); !status.ok()) return status;

  if (scan.remaining() == 0) {
    for (const StoryCall& gone : scan.gone()) story.gone_event = std::max(story.gone_event, gone.event);
  }
  std::stable_sort(residents.begin(), residents.end(), [](const LiveBlock* a, const LiveBlock* b) {
    return a->requested_bytes > b->requested_bytes;
  });
  if (residents.size() > kBlocksTold) residents.resize(kBlocksTold);
  for (const LiveBlock* block : residents) {
    story.calls.push_back({.role = StoryCall::Role::kMade,
                           .event = block->event,
                           .thread = block->thread,
                           .call = block->kind,
                           .bytes = block->requested_bytes});
  }
  std::vector<StoryCall> gone = scan.gone();
  std::sort(gone.begin(), gone.end(), [](const StoryCall& a, const StoryCall& b) { return a.event > b.event; });
  if (gone.size() > kBlocksTold) gone.resize(kBlocksTold);
  story.calls.insert(story.calls.end(), gone.begin(), gone.end());
  story.calls.push_back(pinned);
  story.calls.push_back({.role = StoryCall::Role::kGrew,
                         .event = growth_event,
                         .thread = growth.thread,
                         .call = growth.kind,
                         .bytes = growth.size,
                         .old_bytes = scan.old_bytes_of_growth()});
  for (const StoryCall& call : scan.on_the_way()) {
    const bool told = std::any_of(story.calls.begin(), story.calls.end(),
                                  [&](const StoryCall& other) { return EventOf(other) == call.event; });
    if (!told) story.calls.push_back(call);
  }
  std::stable_sort(story.calls.begin(), story.calls.end(),
                   [](const StoryCall& a, const StoryCall& b) { return a.event < b.event; });
  return story;
}

}  // namespace heaptape
