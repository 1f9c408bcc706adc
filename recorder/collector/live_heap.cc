#include "recorder/collector/live_heap.h"

#include <algorithm>

namespace heaptape {

void LiveHeap::Apply(uint64_t number, const Event& event) {
  const auto add = [this, number](Event block) {
    if (block.address == 0) return;
    block.old_address = 0;
    blocks_[block.address] = {number, block};
  };
  switch (event.kind) {
    case EventKind::kFree:
      blocks_.erase(event.address);
      break;
    case EventKind::kRealloc: {
      if (event.address == 0 && event.size > 0) break;  // failed
      blocks_.erase(event.old_address);
      Event block = event;
      block.kind = EventKind::kMalloc;
      add(block);
      break;
    }
    case EventKind::kReallocBegin: {
      const auto it = blocks_.find(event.old_address);
      in_realloc_[event.thread].push_back(it != blocks_.end() ? it->second : Block());
      if (it != blocks_.end()) blocks_.erase(it);
      break;
    }
    case EventKind::kReallocEnd: {
      std::vector<Block>& open = in_realloc_[event.thread];
      const Block old = open.empty() ? Block() : open.back();
      if (!open.empty()) open.pop_back();
      if (event.address == 0 && event.size > 0) {
        if (old.event.address != 0) blocks_[old.event.address] = old;
        break;
      }
      Event block = event;
      block.kind = EventKind::kMalloc;
      add(block);
      break;
    }
    case EventKind::kThreadStart:
    case EventKind::kThreadEnd:
    case EventKind::kMallopt:
    case EventKind::kMallocTrim:
      break;
    case EventKind::kFork:
      fork_ = event.size;
      forking_thread_ = event.thread;
      break;
    default:
      add(event);
  }
}

absl::StatusOr<bool> LiveHeap::ReadToFork(uint64_t fork) {
  if (fork_ >= fork) return fork_ == fork;
  auto reader = TraceReader::Open(trace_);
  if (!reader.ok()) return reader.status();
  if (offset_ > 0) {
    if (absl::Status status = (*reader)->SkipTo(offset_, event_before_); !status.ok()) return status;
  }
  std::vector<Event> events;
  while (true) {
    offset_ = (*reader)->whole_bytes();
    event_before_ = (*reader)->health().last_event;
    const absl::StatusOr<bool> more = (*reader)->Next(&events);
    if (!more.ok()) return more.status();
    if (!*more) return false;
    for (size_t i = 0; i < events.size(); ++i) {
      const uint64_t number = (*reader)->first_event() + i;
      if (number <= events_) continue;
      events_ = number;
      Apply(number, events[i]);
      if (fork_ >= fork) return fork_ == fork;
    }
  }
}

std::vector<Event> LiveHeap::Allocations() const {
  std::vector<Block> blocks;
  blocks.reserve(blocks_.size());
  for (const auto& [address, block] : blocks_) blocks.push_back(block);
  std::sort(blocks.begin(), blocks.end(), [](const Block& a, const Block& b) { return a.number < b.number; });
  std::vector<Event> events;
  events.reserve(blocks.size());
  for (const Block& block : blocks) events.push_back(block.event);
  return events;
}

}  // namespace heaptape
