#include "analysis/growth_text.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "analysis/holes_text.h"
#include "analysis/text_table.h"

namespace heaptape {
namespace {

std::string StepsText(const GrowthReport& report) {
  TextTable table("rrrrllrl");
  table.Add({"bytes", "MB", "system after", "event", "thread", "call", "steps", "what grew"});
  uint64_t bytes = 0;
  uint64_t steps = 0;
  for (const GrowthCall& growth : report.largest) {
    const GrowthStep& step = growth.step;
    bytes += step.bytes;
    steps += step.steps;
    table.Add({Grouped(step.bytes), Megabytes(step.bytes), Grouped(step.system_bytes), Grouped(step.event),
               step.event == 0 ? "" : absl::StrCat("t", growth.call.thread), step.event == 0 ? "" : CallText(growth.call),
               Grouped(step.steps), GrewText(step)});
  }
  if (report.step_count > steps) {
    table.Add({Grouped(report.up_bytes - bytes), Megabytes(report.up_bytes - bytes), "", "", "", "",
               Grouped(report.step_count - steps), absl::StrCat("[", Counted(report.step_count - steps, "other"), "]")});
  }
  table.Add({absl::StrCat("= ", Grouped(report.up_bytes)), Megabytes(report.up_bytes), "", "", "", "",
             Grouped(report.step_count), "up"});
  table.Add({absl::StrCat("- ", Grouped(report.down_bytes)), Megabytes(report.down_bytes), "", "", "", "", "",
             "given back to the kernel"});
  table.Add({absl::StrCat("= ", Grouped(report.system_bytes)), Megabytes(report.system_bytes), "", "", "", "", "",
             absl::StrCat("system after event ", Grouped(report.at_event))});
  return table.Render();
}

std::string RoomKind(const Room& room) {
  switch (room.kind) {
    case Room::Kind::kHole: return "hole";
    case Room::Kind::kInPlace: return "in place";
    case Room::Kind::kEnd: return "end of heap";
  }
  return "";
}

std::string RoomsText(const GrowthReason& reason) {
  TextTable table("rrllrl");
  table.Add({"bytes", "too short by", "place", "region", "offset", "pinned by"});
  for (const RoomDetail& detail : reason.nearest) {
    table.Add({Grouped(detail.room.bytes),
               detail.room.missing_bytes == 0 ? "large enough" : Grouped(detail.room.missing_bytes),
               RoomKind(detail.room), RegionName(detail.origin), Grouped(detail.offset),
               NeighbourText(detail.pinned_by, "nothing: end of region")});
  }
  const uint64_t others = reason.rooms.hole_count - reason.nearest.size();
  if (others > 0) table.Add({"", "", absl::StrCat("[", Counted(others, "other"), "]")});
  return table.Render();
}

std::string StoryText(const GrowthReason& reason) {
  const HoleStory& story = *reason.story;
  TextTable table("rrlll");
  table.Add({"event", "before it", "thread", "call", ""});
  for (const StoryCall& call : story.calls) {
    table.Add({Grouped(call.event), Grouped(reason.growth.step.event - call.event), absl::StrCat("t", call.thread),
               call.call == EventKind::kFree
                   ? (call.bytes == 0 ? "free" : absl::StrCat("free, ", call.bytes))
                   : absl::StrCat(EventName(call.call), "(", call.bytes, ")",
                                  call.old_bytes == 0 ? "" : absl::StrCat(", was ", call.old_bytes)),
               StoryLine(call, story)});
  }
  return table.Render();
}

std::string ReasonText(const GrowthReason& reason) {
  const GrowthStep& step = reason.growth.step;
  std::string text = absl::StrCat("\nevent ", Grouped(step.event), ": t", reason.growth.call.thread, " ",
                                  CallText(reason.growth.call), " made the ", GrewText(step), " grow by ",
                                  Grouped(step.bytes), " bytes\n");
  for (const std::string& line : ReasonLines(reason)) absl::StrAppend(&text, "  ", line, "\n");
  if (!reason.nearest.empty()) absl::StrAppend(&text, "\n  nearest places, bytes\n", RoomsText(reason));
  if (reason.story.has_value()) {
    absl::StrAppend(&text, "\n  how the nearest came about\n", StoryText(reason), "\n  ", StorySummary(reason), "\n");
  }
  return text;
}

}  // namespace

std::string CallText(const Event& call) {
  if (call.size == 0 && call.address == 0) return "?";
  if (call.kind == EventKind::kFree) return "free";
  return absl::StrCat(EventName(call.kind), "(", call.size, ")");
}

std::string GrewText(const GrowthStep& step) {
  using Kind = GrowthStep::Kind;
  switch (step.kind) {
    case Kind::kBrk: return "brk heap";
    case Kind::kMmap: return step.arena_heap ? "arena heap, new" : "mapping, new";
    case Kind::kMremap: return "mapping";
    case Kind::kMprotect:
      if (!step.arena_heap) return "mapping";
      return step.origin == GrowthStep::kNoOrigin ? "arena heaps" : absl::StrCat("arena heap, ", RegionName(step.origin));
    case Kind::kRegrown: return "arena heap, without a call";
    case Kind::kMixed: return "several";
  }
  return "";
}

std::vector<std::string> ReasonLines(const GrowthReason& reason) {
  const RoomReport& rooms = reason.rooms;
  std::vector<std::string> lines;
  lines.push_back(absl::StrCat("asked for ", Grouped(reason.growth.call.size), " bytes; the allocator looks for ",
                               Grouped(reason.wanted_bytes)));
  lines.push_back(absl::StrCat("free before it: ", Grouped(rooms.hole_bytes), " of ", Grouped(reason.system_bytes),
                               " system bytes, in ", Counted(rooms.hole_count, "hole")));
  if (rooms.power_of_two >= 8) {
    lines.push_back(absl::StrCat("of these ", Grouped(rooms.eighth_count), " of at least ",
                                 ShortSize(rooms.power_of_two / 8), ", ", Grouped(rooms.power_count), " of at least ",
                                 ShortSize(rooms.power_of_two), ", ", Grouped(rooms.fitting_count), " large enough"));
  }
  if (rooms.fitting_elsewhere_count > 0) {
    lines.push_back(absl::StrCat(Grouped(rooms.fitting_elsewhere_count),
                                 " of these are in other regions, where other arenas have them"));
  }
  if (rooms.fitting_count > rooms.fitting_elsewhere_count) {
    lines.push_back(absl::StrCat(Grouped(rooms.fitting_count - rooms.fitting_elsewhere_count),
                                 " of these are cut up: freed blocks in them are kept by caches, unmerged"));
  }
  return lines;
}

std::string StoryLine(const StoryCall& call, const HoleStory& story) {
  switch (call.role) {
    case StoryCall::Role::kMade: return "lay in the place";
    case StoryCall::Role::kPinned:
      return story.blocks_then == 0 ? "the pin is placed; before it, all was free already"
                                    : absl::StrCat("the pin is placed ", Counted(call.gap_bytes, "byte"), " behind it");
    case StoryCall::Role::kGone:
      return call.event == story.gone_event ? "goes; the pin stays: the hole is made" : "goes";
    case StoryCall::Role::kOnTheWay: return "";
    case StoryCall::Role::kGrew: return "finds no room: the heap grows";
  }
  return "";
}

std::string StorySummary(const GrowthReason& reason) {
  if (!reason.story.has_value() || reason.nearest.empty()) return "";
  const HoleStory& story = *reason.story;
  const RoomDetail& nearest = reason.nearest[0];
  const uint64_t growth_event = reason.growth.step.event;
  std::string text = absl::StrCat("The nearest place was ",
                                  nearest.room.missing_bytes == 0
                                      ? std::string("large enough")
                                      : absl::StrCat(Counted(nearest.room.missing_bytes, "byte"), " too short"),
                                  ": a block of ", Counted(nearest.pinned_by.block.requested_bytes, "byte"), " ends it, placed at event ",
                                  Grouped(story.pin_event), ", ", Counted(growth_event - story.pin_event, "call"),
                                  " before.");
  if (story.gone_event > 0) {
    absl::StrAppend(&text, " What had lain there was gone at event ", Grouped(story.gone_event), ", ",
                    Counted(story.gone_event - story.pin_event, "call"), " later; that block stayed.");
  }
  return text;
}

std::string GrowthText(const GrowthReport& report) {
  std::string text = absl::StrCat("steps up of system bytes, the largest\n", StepsText(report));
  for (const GrowthReason& reason : report.reasons) text += ReasonText(reason);
  if (!report.digest.empty()) absl::StrAppend(&text, "\ndigest ", report.digest, "\n");
  return text;
}

}  // namespace heaptape
