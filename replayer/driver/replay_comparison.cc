#include "replayer/driver/replay_comparison.h"

#include <cstdint>
#include <cstring>

#include "absl/strings/str_cat.h"

namespace heaptape {

namespace {

struct Figure {
  const char* name;
  uint64_t a, b;
};

absl::Status Differ(absl::string_view what, uint64_t a, uint64_t b) {
  return absl::AbortedError(absl::StrCat("two replays differ in ", what, ": ", a, " and ", b));
}

bool SameSyscalls(const SyscallCounts& a, const SyscallCounts& b) {
  return std::memcmp(&a, &b, sizeof(a)) == 0;
}

bool SameRegion(const Region& a, const Region& b) { return std::memcmp(&a, &b, sizeof(a)) == 0; }

}  // namespace

absl::Status CompareReplays(const ReplayResult& a, const ReplayResult& b) {
  const Figure figures[] = {
      {"events", a.events_done, b.events_done},
      {"digest", a.digest, b.digest},
      {"failed calls", a.failed_calls, b.failed_calls},
      {"lanes", a.lanes, b.lanes},
      {"live blocks", a.live_blocks, b.live_blocks},
      {"usable bytes", a.usable_bytes, b.usable_bytes},
      {"system bytes", a.system_bytes, b.system_bytes},
      {"peak usable bytes", a.peak_usable.bytes, b.peak_usable.bytes},
      {"event of peak usable bytes", a.peak_usable.event, b.peak_usable.event},
      {"peak system bytes", a.peak_system.bytes, b.peak_system.bytes},
      {"event of peak system bytes", a.peak_system.event, b.peak_system.event},
      {"peak mappings", a.peak_mappings, b.peak_mappings},
      {"arena bytes by mallinfo2", a.mallinfo_arena, b.mallinfo_arena},
      {"mmapped bytes by mallinfo2", a.mallinfo_hblkhd, b.mallinfo_hblkhd},
      {"bytes in use by mallinfo2", a.mallinfo_uordblks, b.mallinfo_uordblks},
      {"steps of growth", a.growth.size(), b.growth.size()},
      {"number of samples", a.timeline.size(), b.timeline.size()},
      {"number of regions", a.regions.size(), b.regions.size()},
      {"number of blocks", a.blocks.size(), b.blocks.size()},
  };
  for (const Figure& figure : figures) {
    if (figure.a != figure.b) return Differ(figure.name, figure.a, figure.b);
  }
  if (!SameSyscalls(a.syscalls, b.syscalls)) {
    return absl::AbortedError("two replays differ in their system calls");
  }
  for (size_t i = 0; i < a.timeline.size(); ++i) {
    const TimelinePoint& left = a.timeline[i];
    const TimelinePoint& right = b.timeline[i];
    if (left.event != right.event) return Differ("a sample's event", left.event, right.event);
    if (left.system_bytes != right.system_bytes) {
      return Differ(absl::StrCat("system bytes at event ", left.event), left.system_bytes,
                    right.system_bytes);
    }
  }
  for (size_t i = 0; i < a.growth.size(); ++i) {
    const GrowthStep& left = a.growth[i];
    const GrowthStep& right = b.growth[i];
    if (left.event != right.event) return Differ("a step's event", left.event, right.event);
    if (left.bytes != right.bytes) {
      return Differ(absl::StrCat("the step at event ", left.event), left.bytes, right.bytes);
    }
  }
  // Where the kernel randomises, only distances agree, and the digest has those.
  if (!a.settings.aslr_disabled || !b.settings.aslr_disabled) return absl::OkStatus();
  for (size_t i = 0; i < a.regions.size(); ++i) {
    if (!SameRegion(a.regions[i], b.regions[i])) {
      return Differ("a region", a.regions[i].lo, b.regions[i].lo);
    }
  }
  for (size_t i = 0; i < a.blocks.size(); ++i) {
    if (!(a.blocks[i] == b.blocks[i])) {
      return Differ("a block", a.blocks[i].address, b.blocks[i].address);
    }
  }
  return absl::OkStatus();
}

}  // namespace heaptape
