#include "analysis/verdict.h"

#include <algorithm>
#include <array>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "analysis/text_table.h"

namespace heaptape {
namespace {

// Less excess than this is how heaps are.
constexpr uint64_t kSmallExcessBytes = 4 << 20;
constexpr double kSmallExcessShare = 0.1;
// A probe explains the excess if this share of it goes, and another does not come
// this near.
constexpr double kExplains = 0.5;
constexpr double kApart = 0.25;
// Few blocks: ten hold this share. Many: there are this many, and ten hold less.
constexpr double kFewHold = 0.5;
constexpr uint64_t kManyPins = 50;
// So many mappings, and so many times as many as without settings, are too many.
constexpr uint64_t kManyMappings = 1000;
constexpr uint64_t kTimesMore = 10;

double Share(uint64_t part, uint64_t whole) {
  return whole == 0 ? 0 : static_cast<double>(part) / static_cast<double>(whole);
}

std::string Percent(double share) { return absl::StrFormat("%.0f %%", 100 * share); }

std::string MB(uint64_t bytes) { return absl::StrCat(Megabytes(bytes), " MB"); }

uint64_t Excess(const VerdictFacts& facts) {
  return facts.system_bytes - std::min(facts.system_bytes, facts.requested_bytes);
}

bool HasExcess(const VerdictFacts& facts) {
  const uint64_t excess = Excess(facts);
  return excess > kSmallExcessBytes && Share(excess, facts.system_bytes) > kSmallExcessShare;
}

// The share of the excess that goes under a probe.
double Gone(const VerdictFacts& facts, const std::optional<VerdictProbe>& probe) {
  if (!probe.has_value() || probe->system_bytes >= facts.system_bytes) return 0;
  return Share(facts.system_bytes - probe->system_bytes, Excess(facts));
}

bool IsOverTuned(const VerdictFacts& facts) {
  if (!facts.untuned.has_value()) return false;
  const VerdictProbe& untuned = *facts.untuned;
  const bool many = facts.peak_mappings > kManyMappings &&
                    facts.peak_mappings > kTimesMore * std::max<uint64_t>(untuned.peak_mappings, 1);
  const bool larger = static_cast<double>(facts.system_bytes) > 1.1 * static_cast<double>(untuned.system_bytes) &&
                      facts.system_bytes > untuned.system_bytes + kSmallExcessBytes;
  return many || larger;
}

bool Grows(const VerdictFacts& facts) {
  return facts.requested_bytes > (1 << 20) && Share(facts.requested_bytes, facts.peak_requested_bytes) > 0.9 &&
         Share(facts.half_requested_bytes, facts.requested_bytes) < 0.75;
}

std::string Holds(const VerdictFacts& facts) {
  return absl::StrCat("After event ", Grouped(facts.at_event), " the allocator holds ", MB(facts.system_bytes), " for ",
                      MB(facts.requested_bytes), " of live data in ", Counted(facts.live_blocks, "block"), ".");
}

// What the other probes came to, to tell the verdict from its neighbours.
std::string Others(const VerdictFacts& facts, const std::optional<VerdictProbe>* except) {
  std::vector<std::string> parts;
  for (const std::optional<VerdictProbe>* probe : {&facts.frozen, &facts.one_arena, &facts.no_thread_cache}) {
    if (probe == except || !probe->has_value()) continue;
    parts.push_back(absl::StrCat(MB((*probe)->system_bytes), " with ", (*probe)->setting));
  }
  if (parts.empty()) return "";
  std::string text = parts[0];
  for (size_t i = 1; i < parts.size(); ++i) absl::StrAppend(&text, i + 1 == parts.size() ? " and " : ", ", parts[i]);
  return text;
}

std::string OthersSentence(const VerdictFacts& facts, const std::optional<VerdictProbe>* except) {
  const std::string others = Others(facts, except);
  return others.empty() ? "" : absl::StrCat(" Other causes are ruled out: it holds ", others, ".");
}

Verdict MovingThreshold(const VerdictFacts& facts) {
  const VerdictProbe& probe = *facts.frozen;
  return {.mechanism = Mechanism::kMovingThreshold,
          .paragraph = absl::StrCat(
              Holds(facts), " glibc raises its mmap threshold whenever an mmapped block is freed, so large blocks come to lie "
              "in the heap, where what they leave behind is pinned by small ones: here ",
              Counted(facts.pin_count, "block"), " pin ", MB(facts.pinned_bytes), ". With the threshold kept where it starts it holds ",
              MB(probe.system_bytes), ": ", Percent(Gone(facts, facts.frozen)), " of the excess goes.",
              OthersSentence(facts, &facts.frozen)),
          .advice = "Set the mmap threshold to its own default; setting it at all keeps it from moving.",
          .environment = "GLIBC_TUNABLES=glibc.malloc.mmap_threshold=131072",
          .probes = {}};
}

Verdict ArenaPerThread(const VerdictFacts& facts) {
  const VerdictProbe& probe = *facts.one_arena;
  return {.mechanism = Mechanism::kArenaPerThread,
          .paragraph = absl::StrCat(
              Holds(facts), " ", Counted(facts.threads, "thread"), " allocate from ", Counted(facts.arenas, "heap"),
              ", and each keeps what its threads once needed, since threads do not reuse what is free in another's. With one arena for all it holds ",
              MB(probe.system_bytes), ": ", Percent(Gone(facts, facts.one_arena)), " of the excess goes.",
              OthersSentence(facts, &facts.one_arena)),
          .advice = "Limit the arenas: to one if threads seldom allocate at the same time, else to a few.",
          .environment = "GLIBC_TUNABLES=glibc.malloc.arena_max=1",
          .probes = {}};
}

Verdict ThreadCache(const VerdictFacts& facts) {
  const VerdictProbe& probe = *facts.no_thread_cache;
  return {.mechanism = Mechanism::kThreadCache,
          .paragraph = absl::StrCat(
              Holds(facts), " ", MB(facts.top_bytes), " of it lie free at the top of the heap, with no live block behind; freed blocks that a "
              "thread cache keeps count as in use and hold the top where it is. Without thread caches it holds ",
              MB(probe.system_bytes), ": ", Percent(Gone(facts, facts.no_thread_cache)), " of the excess goes.",
              OthersSentence(facts, &facts.no_thread_cache)),
          .advice = "Turn thread caches off, or free in the order of allocation; any later allocation of that size helps too.",
          .environment = "GLIBC_TUNABLES=glibc.malloc.tcache_count=0",
          .probes = {}};
}

Verdict OverTuned(const VerdictFacts& facts) {
  const VerdictProbe& untuned = *facts.untuned;
  std::string text = Holds(facts);
  absl::StrAppend(&text, " At the peak it is ", MB(facts.peak_system_bytes), " in ", Counted(facts.peak_mappings, "mapping"),
                  " after ", Counted(facts.system_calls, "system call"), "; without these settings ", MB(untuned.peak_system_bytes),
                  " in ", Counted(untuned.peak_mappings, "mapping"), " after ", Counted(untuned.system_calls, "system call"),
                  ", and ", MB(untuned.system_bytes), " at the end.");
  if (facts.peak_mappings > kManyMappings) {
    absl::StrAppend(&text, " That is ", Percent(Share(facts.peak_mappings, kMapLimit)), " of what the kernel allows a process (vm.max_map_count, ",
                    Grouped(kMapLimit), "), beyond which mmap fails, for threads and libraries too.");
  }
  return {.mechanism = Mechanism::kOverTuned,
          .paragraph = text,
          .advice = "Drop these settings, or move them towards the defaults.",
          .environment = "",
          .probes = {}};
}

Verdict PinnedTop(const VerdictFacts& facts) {
  const Pin& pin = *facts.largest_pin;
  return {.mechanism = Mechanism::kPinnedTop,
          .paragraph = absl::StrCat(
              Holds(facts), " ", MB(facts.pinned_bytes), " are free but lie below live blocks; the ten that hold most hold ",
              Percent(Share(facts.ten_pins_bytes, facts.pinned_bytes)), " of that, the first of them ", MB(pin.held_bytes), ": ",
              Counted(pin.block.requested_bytes, "byte"), " of thread ", pin.block.thread, ", allocated at event ",
              Grouped(pin.block.event), ". No setting that was tried gives it back",
              Others(facts, nullptr).empty() ? "" : absl::StrCat(" (", Others(facts, nullptr), ")"), "."),
          .advice = absl::StrCat("Allocate these blocks earlier, or elsewhere; malloc_trim(0) could give ", MB(facts.trimmable_bytes),
                                 " back meanwhile."),
          .environment = "",
          .probes = {}};
}

Verdict ScatteredSurvivors(const VerdictFacts& facts) {
  return {.mechanism = Mechanism::kScatteredSurvivors,
          .paragraph = absl::StrCat(
              Holds(facts), " ", MB(facts.pinned_bytes), " are free between ", Counted(facts.pin_count, "surviving block"),
              ", each of which holds back ", Grouped(facts.pinned_bytes / std::max<uint64_t>(facts.pin_count, 1)),
              " bytes on average; the ten that hold most hold ", Percent(Share(facts.ten_pins_bytes, facts.pinned_bytes)),
              ". Whole pages, which malloc_trim(0) could give back, are ", MB(facts.trimmable_bytes), " of it; ",
              MB(facts.hole_bytes - facts.trimmable_bytes), " lie in pages that a survivor has a part of.",
              Others(facts, nullptr).empty() ? "" : absl::StrCat(" No setting that was tried helps: it holds ", Others(facts, nullptr), ".")),
          .advice = facts.trimmable_bytes * 2 > facts.hole_bytes
                        ? "Call malloc_trim(0) when a phase is over; keep what survives apart from what does not."
                        : "Keep what survives apart from what does not: no setting and no trimming reaches holes of less than a page.",
          .environment = "",
          .probes = {}};
}

Verdict NotSure(const VerdictFacts& facts, const std::string& why) {
  return {.mechanism = Mechanism::kNotSure,
          .paragraph = absl::StrCat(Holds(facts), " ", MB(facts.hole_bytes), " lie in ", Counted(facts.hole_count, "hole"), ". ", why),
          .advice = "",
          .environment = "",
          .probes = {}};
}

Verdict JudgeExcess(const VerdictFacts& facts) {
  struct Candidate {
    double gone;
    Verdict (*verdict)(const VerdictFacts&);
    const std::optional<VerdictProbe>* probe;
  };
  std::array<Candidate, 3> candidates = {{{Gone(facts, facts.frozen), MovingThreshold, &facts.frozen},
                                          {Gone(facts, facts.one_arena), ArenaPerThread, &facts.one_arena},
                                          {Gone(facts, facts.no_thread_cache), ThreadCache, &facts.no_thread_cache}}};
  std::stable_sort(candidates.begin(), candidates.end(),
                   [](const Candidate& a, const Candidate& b) { return a.gone > b.gone; });
  if (candidates[0].gone >= kExplains) {
    if (candidates[0].gone - candidates[1].gone >= kApart) return candidates[0].verdict(facts);
    return NotSure(facts, absl::StrCat("More than one setting reduces it: it holds ", Others(facts, nullptr),
                                       "; the causes go together, and one replay at a time does not tell them apart."));
  }
  if (Share(facts.pinned_bytes, facts.hole_bytes) >= kFewHold) {
    const double ten = Share(facts.ten_pins_bytes, facts.pinned_bytes);
    if (ten >= kFewHold) return PinnedTop(facts);
    if (facts.pin_count >= kManyPins) return ScatteredSurvivors(facts);
  }
  const std::string others = Others(facts, nullptr);
  return NotSure(facts, absl::StrCat("What holds them is not clear: ",
                                     others.empty() ? std::string("no other setting was tried.")
                                                    : absl::StrCat("it holds ", others, ", and ",
                                                                   MB(facts.top_bytes), " of the holes have no block behind them.")));
}

}  // namespace

const char* MechanismName(Mechanism mechanism) {
  switch (mechanism) {
    case Mechanism::kLeak: return "leak";
    case Mechanism::kMovingThreshold: return "moving mmap threshold";
    case Mechanism::kArenaPerThread: return "arena per thread";
    case Mechanism::kThreadCache: return "thread cache";
    case Mechanism::kPinnedTop: return "pinned top";
    case Mechanism::kScatteredSurvivors: return "scattered survivors";
    case Mechanism::kOverTuned: return "over-tuned";
    case Mechanism::kHealthy: return "healthy";
    case Mechanism::kNotSure: return "not sure";
  }
  return "";
}

VerdictFacts FactsOf(const ReplayResult& result, const HolesReport& holes) {
  VerdictFacts facts;
  facts.at_event = holes.at_event;
  facts.requested_bytes = holes.requested_bytes;
  for (const TimelinePoint& point : result.timeline) {
    if (point.event <= result.events_done / 2) facts.half_requested_bytes = point.requested_bytes;
  }
  facts.peak_requested_bytes = result.peak_requested.bytes;
  facts.system_bytes = holes.system_bytes;
  facts.peak_system_bytes = result.peak_system.bytes;
  facts.peak_mappings = result.peak_mappings;
  facts.system_calls = Total(result.syscalls);
  facts.live_blocks = holes.live_blocks;
  facts.hole_bytes = holes.hole_bytes;
  facts.hole_count = holes.hole_count;
  facts.top_bytes = holes.top_bytes;
  facts.trimmable_bytes = holes.trimmable_bytes;
  facts.pin_count = holes.pin_count;
  for (const PinGroup& group : holes.pin_groups) facts.pinned_bytes += group.held_bytes;
  if (!holes.pins.empty()) facts.largest_pin = holes.pins[0];
  for (size_t i = 0; i < std::min<size_t>(holes.pins.size(), 10); ++i) facts.ten_pins_bytes += holes.pins[i].held_bytes;
  for (const ArenaTotals& arena : holes.arenas) facts.arenas += arena.one_block ? 0 : 1;
  facts.threads = result.plan.threads;
  return facts;
}

bool NeedsProbes(const VerdictFacts& facts) { return HasExcess(facts) || facts.peak_mappings > kManyMappings; }

Verdict Judge(const VerdictFacts& facts) {
  Verdict verdict;
  if (IsOverTuned(facts)) {
    verdict = OverTuned(facts);
  } else if (HasExcess(facts)) {
    verdict = JudgeExcess(facts);
  } else if (Grows(facts)) {
    verdict = {.mechanism = Mechanism::kLeak,
               .paragraph = absl::StrCat(
                   Holds(facts), " Requested bytes grow with system bytes: ", MB(facts.half_requested_bytes), " half way, ",
                   MB(facts.requested_bytes), " at the end, which is ",
                   Percent(Share(facts.requested_bytes, facts.peak_requested_bytes)), " of their peak; only ", MB(Excess(facts)),
                   " are not asked for by anyone. That is not fragmentation, and no setting helps."),
               .advice = "Find who keeps these blocks: they leak, or the data is needed and that large.",
               .environment = "",
               .probes = {}};
  } else {
    verdict = {.mechanism = Mechanism::kHealthy,
               .paragraph = absl::StrCat(Holds(facts), " At their peaks it was ", MB(facts.peak_system_bytes), " for ",
                                         MB(facts.peak_requested_bytes), ". What it holds in excess, ", MB(Excess(facts)),
                                         ", is what heaps keep."),
               .advice = "",
               .environment = "",
               .probes = {}};
  }
  for (const std::optional<VerdictProbe>* probe : {&facts.frozen, &facts.one_arena, &facts.no_thread_cache, &facts.untuned}) {
    if (probe->has_value()) verdict.probes.push_back(**probe);
  }
  return verdict;
}

}  // namespace heaptape
