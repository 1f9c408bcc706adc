#include "proto/event_text.h"

#include "absl/strings/str_cat.h"

namespace heaptape {

void AppendEventText(uint64_t number, const Event& event, std::string* out) {
  absl::StrAppend(out, number, " t", event.thread, " ", EventName(event.kind), "(");
  const auto address = [](uint64_t value) { return absl::StrCat("0x", absl::Hex(value)); };
  bool returns = true;
  switch (event.kind) {
    case EventKind::kMalloc:
    case EventKind::kValloc:
    case EventKind::kPvalloc:
    case EventKind::kReallocEnd:
    case EventKind::kMallocTrim:
      absl::StrAppend(out, event.size);
      break;
    case EventKind::kCalloc:
      absl::StrAppend(out, "1, ", event.size);
      break;
    case EventKind::kRealloc:
      absl::StrAppend(out, address(event.old_address), ", ", event.size);
      break;
    case EventKind::kMemalign:
    case EventKind::kAlignedAlloc:
    case EventKind::kPosixMemalign:
      absl::StrAppend(out, uint64_t{1} << (event.alignment_log2 & 63), ", ", event.size);
      break;
    case EventKind::kMallopt:
      absl::StrAppend(out, static_cast<int32_t>(event.size), ", ", static_cast<int32_t>(event.old_address));
      break;
    case EventKind::kFree:
      absl::StrAppend(out, address(event.address));
      returns = false;
      break;
    case EventKind::kReallocBegin:
      absl::StrAppend(out, address(event.old_address));
      returns = false;
      break;
    case EventKind::kThreadStart:
      absl::StrAppend(out, "tid ", event.size);
      returns = false;
      break;
    case EventKind::kFork:
      absl::StrAppend(out, event.size);
      returns = false;
      break;
    case EventKind::kThreadEnd:
      returns = false;
      break;
  }
  absl::StrAppend(out, ")");
  if (event.kind == EventKind::kMallopt || event.kind == EventKind::kMallocTrim) {
    absl::StrAppend(out, " = ", event.address);
  } else if (returns) {
    absl::StrAppend(out, " = ", address(event.address));
  }
  out->push_back('\n');
}

}  // namespace heaptape
