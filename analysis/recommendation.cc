#include "analysis/recommendation.h"

#include <algorithm>
#include <cmath>
#include <iterator>
#include <tuple>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/strip.h"
#include "analysis/text_table.h"
#include "replayer/driver/tunables.h"

namespace heaptape {
namespace {

constexpr double kWorthShare = 0.1;
constexpr int64_t kWorthBytes = 1 << 20;
constexpr double kAsGood = 0.95;
// Another allocator is worth a word from here on.
constexpr double kAllocatorWorthShare = 0.25;
constexpr double kHelpsShare = 0.2;
constexpr double kPeakMayRise = 1.05;

constexpr double kSecondsAFaultOrCall = 1e-6;
constexpr double kTooManyTimes = 10;
constexpr double kTooMuchOfTheTime = 0.05;

// Of the kernel's limit of mappings.
constexpr double kManyMappings = 0.1;
constexpr double kTooManyMappings = 0.5;

constexpr uint64_t kFewArenas = 2;

constexpr char kMalloc[] = "glibc.malloc.";

// The settings of malloc that people set, in the order in which one is preferred to
// another that does as well; their defaults on a 64-bit machine.
struct Lever {
  const char* name;
  double default_value;
};
constexpr Lever kLevers[] = {
    {"mmap_threshold", 128 << 10}, {"arena_max", 64}, {"tcache_count", 7},     {"trim_threshold", 128 << 10},
    {"top_pad", 128 << 10},        {"mxfast", 128},   {"mmap_max", 65536},     {"hugetlb", 0},
};

std::string MB(uint64_t bytes) { return absl::StrCat(Megabytes(bytes), " MB"); }

double Share(double part, double whole) { return whole == 0 ? 0 : part / whole; }

std::string Percent(double share) { return absl::StrFormat("%.0f %%", 100 * share); }

uint64_t Calls(const SweepRow& row) { return Total(row.syscalls); }

bool IsOtherAllocator(const SweepRow& row) { return row.point.allocator != "glibc"; }

// The one setting that a row changes, without its namespace; empty if it changes
// none or several.
std::string OnlyLever(const SweepPoint& point) {
  if (point.allocator != "glibc") return point.allocator;
  if (point.trim_at_end) return point.tunables.empty() ? "malloc_trim" : "";
  if (point.tunables.size() != 1) return "";
  return std::string(absl::StripPrefix(point.tunables.begin()->first, kMalloc));
}

// How large a change a row is, the smaller the better; and, among equals, the price.
using ChangeSize = std::tuple<size_t, size_t, double, uint64_t, std::string>;

ChangeSize SizeOf(const SweepRow& row) {
  double distance = 0;
  size_t preference = 0;
  for (const auto& [name, value] : row.point.tunables) {
    double number = 0;
    const auto lever = std::find_if(std::begin(kLevers), std::end(kLevers), [&name = name](const Lever& known) {
      return absl::StripPrefix(name, kMalloc) == known.name;
    });
    preference += static_cast<size_t>(lever - std::begin(kLevers));
    if (lever != std::end(kLevers) && absl::SimpleAtod(value, &number)) {
      distance += std::abs(std::log2((number + 1) / (lever->default_value + 1)));
    }
  }
  return {row.point.tunables.size(), preference, distance, row.minor_faults + Calls(row),
          PointName(row.point)};
}

class Advisor {
 public:
  Advisor(const Sweep& sweep, uint64_t duration_ns)
      : sweep_(sweep), recorded_(sweep.rows.front()), duration_(static_cast<double>(duration_ns) * 1e-9) {}

  Recommendation Advise() const {
    Recommendation advice;
    advice.verdict = Judge(sweep_.facts);
    const std::vector<size_t> good = AsGoodAsTheBest();
    if (!good.empty()) {
      const size_t row = *std::min_element(good.begin(), good.end(), [this](size_t a, size_t b) {
        return SizeOf(sweep_.rows[a]) < SizeOf(sweep_.rows[b]);
      });
      advice.row = row;
      advice.reason = WhyThis(row);
      advice.freeze = ValueOrFreeze(row);
      advice.price = Price(sweep_.rows[row]);
      advice.warnings = Warnings(row);
    } else {
      advice.reason = WhyNone(advice.verdict);
    }
    advice.alternatives = Alternatives(advice.row);
    return advice;
  }

 private:
  int64_t Gain(const SweepRow& row) const {
    return static_cast<int64_t>(HeldBytes(sweep_, recorded_)) - static_cast<int64_t>(HeldBytes(sweep_, row));
  }

  bool IsWorthIt(const SweepRow& row) const {
    const double share = Share(static_cast<double>(Gain(row)), static_cast<double>(HeldBytes(sweep_, recorded_)));
    return Gain(row) >= kWorthBytes && share >= (IsOtherAllocator(row) ? kAllocatorWorthShare : kWorthShare);
  }

  bool RaisesThePeak(const SweepRow& row) const {
    return PeakOf(row) > kPeakMayRise * PeakOf(recorded_) + kWorthBytes;
  }

  double PeakOf(const SweepRow& row) const {
    return static_cast<double>(IsTouched() ? row.peak.resident : row.peak.system);
  }

  bool IsTouched() const { return heaptape::IsTouched(sweep_); }

  bool HasTooManyMappings(const SweepRow& row) const {
    return static_cast<double>(row.peak_mappings) > kTooManyMappings * kMapLimit;
  }

  static double Cost(const SweepRow& row) {
    return kSecondsAFaultOrCall * static_cast<double>(row.minor_faults + Calls(row));
  }

  bool IsTooDear(const SweepRow& row) const {
    const bool much = duration_ == 0 || Cost(row) - Cost(recorded_) > kTooMuchOfTheTime * duration_;
    return much && Cost(row) > kTooManyTimes * Cost(recorded_);
  }

  // A setting, and one that gains enough.
  bool Helps(const SweepRow& row) const {
    return row.ok() && !IsOtherAllocator(row) && !row.point.trim_at_end &&
           row.point.tunables.count(absl::StrCat(kMalloc, "hugetlb")) == 0 && IsWorthIt(row);
  }

  bool IsObjectionable(const SweepRow& row) const {
    return RaisesThePeak(row) || HasTooManyMappings(row) || IsTooDear(row);
  }

  std::vector<size_t> AsGoodAsTheBest() const {
    std::vector<size_t> good;
    int64_t best = 0;
    for (size_t i = 1; i < sweep_.rows.size(); ++i) {
      const SweepRow& row = sweep_.rows[i];
      if (!Helps(row) || IsObjectionable(row)) continue;
      good.push_back(i);
      best = std::max(best, Gain(row));
    }
    const auto is_less = [&](size_t i) {
      return static_cast<double>(Gain(sweep_.rows[i])) < kAsGood * static_cast<double>(best);
    };
    good.erase(std::remove_if(good.begin(), good.end(), is_less), good.end());
    return good;
  }

  const char* What() const { return IsTouched() ? "resident" : "system"; }

  std::string Held(const SweepRow& row) const {
    return IsTouched() ? absl::StrCat("peak ", MB(row.peak.resident), ", end ", MB(row.end.resident))
                       : absl::StrCat("peak ", MB(row.peak.system), ", end ", MB(row.end.system));
  }

  std::string WhyThis(size_t index) const {
    const SweepRow& row = sweep_.rows[index];
    std::string text = absl::StrCat(PointName(row.point), ": ", What(), " ", Held(row), "; as recorded ", Held(recorded_), ".");
    const SweepRow* best = &row;
    for (const SweepRow& other : sweep_.rows) {
      if (Helps(other) && Gain(other) > Gain(*best)) best = &other;
    }
    const double share = Share(static_cast<double>(Gain(row)), static_cast<double>(Gain(*best)));
    if (share < 0.995) {
      absl::StrAppend(&text, " That is ", Percent(share), " of the most that any setting gained (", PointName(best->point), ")",
                      IsObjectionable(*best) ? absl::StrCat(", which ", Objection(*best)) : "", ".");
    }
    return text;
  }

  // What speaks against a row that is worth it.
  std::string Objection(const SweepRow& row) const {
    if (HasTooManyMappings(row)) {
      return absl::StrCat("would have ", Grouped(row.peak_mappings), " mappings of the ", Grouped(kMapLimit), " that the kernel allows");
    }
    if (RaisesThePeak(row)) return absl::StrCat("would raise the peak to ", Megabytes(static_cast<uint64_t>(PeakOf(row))), " MB");
    return absl::StrCat("costs out of proportion: ", Price(row));
  }

  std::string Price(const SweepRow& row) const {
    const auto change = [](uint64_t now, uint64_t before, const char* what) {
      if (now == before) return absl::StrCat("as many ", what, " as before (", Grouped(now), ")");
      std::string text = absl::StrCat(Grouped(now), " ", what, " instead of ", Grouped(before));
      if (before > 0 && now > 2 * before) absl::StrAppendFormat(&text, " (%.0f times as many)", static_cast<double>(now) / before);
      return text;
    };
    std::string text = absl::StrCat(change(row.minor_faults, recorded_.minor_faults, "page faults"), ", ",
                                    change(Calls(row), Calls(recorded_), "memory system calls"));
    const double more = Cost(row) - Cost(recorded_);
    if (more > 0) {
      absl::StrAppendFormat(&text, ", at a microsecond each %.2f s more", more);
      if (duration_ > 0) absl::StrAppendFormat(&text, " over the %.1f s that were recorded", duration_);
    }
    return text;
  }

  const SweepRow* Find(const SweepPoint& point) const {
    for (const SweepRow& row : sweep_.rows) {
      if (row.ok() && row.point == point) return &row;
    }
    return nullptr;
  }

  std::string ValueOrFreeze(size_t index) const {
    const SweepRow& row = sweep_.rows[index];
    if (!FreezesMmapThreshold(row.point.tunables) || FreezesMmapThreshold(sweep_.recorded.settings.tunables)) return "";
    const SweepRow* frozen = Find(FreezeProbe());
    if (frozen == nullptr) return "";
    const double share = Share(static_cast<double>(Gain(*frozen)), static_cast<double>(Gain(row)));
    const std::string what = absl::StrCat("Setting any of mmap_threshold, trim_threshold, top_pad and mmap_max stops glibc from raising its "
                                          "mmap threshold; trim_threshold=128K, its own default, does that and nothing else, and by itself gains ");
    if (share >= kAsGood) return absl::StrCat(what, "as much: it is the freeze that helps, not the value.");
    if (share <= 1 - kAsGood) return absl::StrCat(what, "nothing: it is the value that helps.");
    return absl::StrCat(what, Percent(share), " of this; the rest is the value.");
  }

  std::vector<std::string> Warnings(size_t index) const {
    const SweepRow& row = sweep_.rows[index];
    std::vector<std::string> warnings = RemarksOn(sweep_, row);
    const auto arena_max = row.point.tunables.find(absl::StrCat(kMalloc, "arena_max"));
    uint64_t arenas = 0;
    const uint64_t threads = sweep_.facts.threads;
    if (arena_max != row.point.tunables.end() && absl::SimpleAtoi(arena_max->second, &arenas) && arenas <= kFewArenas && threads > 4 * arenas) {
      SweepPoint more;
      more.tunables[absl::StrCat(kMalloc, "arena_max")] = absl::StrCat(2 * arenas);
      const SweepRow* other = Find(more);
      warnings.push_back(absl::StrCat(Grouped(threads), " threads would share ", Counted(arenas, "arena"),
                                      ", and wait for each other where they allocate at the same moment; a replay makes one call at a time and cannot "
                                      "show that, so measure the program's throughput",
                                      other == nullptr ? "." : absl::StrCat("; ", PointName(more), " comes to ", Held(*other), ".")));
    }
    if (sweep_.recorded.plan.mallopt_calls > 0) {
      warnings.push_back(absl::StrCat("The program calls mallopt ", Counted(sweep_.recorded.plan.mallopt_calls, "time"),
                                      "; what it sets there overrides the environment."));
    }
    return warnings;
  }

  std::string WhyNone(const Verdict& verdict) const {
    std::string text = "No setting is recommended. ";
    const SweepRow* dear = nullptr;
    for (const SweepRow& row : sweep_.rows) {
      if (!Helps(row)) continue;
      if (dear == nullptr || SizeOf(row) < SizeOf(*dear)) dear = &row;
    }
    if (dear != nullptr) {
      absl::StrAppend(&text, PointName(dear->point), " would gain ", MB(static_cast<uint64_t>(Gain(*dear))), " (", Held(*dear),
                      "; as recorded ", Held(recorded_), "), but ", Objection(*dear), ".");
    } else {
      absl::StrAppend(&text, verdict.paragraph);
    }
    SweepPoint trim;
    trim.trim_at_end = true;
    if (const SweepRow* trimmed = Find(trim); trimmed != nullptr && IsTouched()) {
      const int64_t given_back = static_cast<int64_t>(recorded_.end.resident) - static_cast<int64_t>(trimmed->end.resident);
      absl::StrAppend(&text, " malloc_trim(0) at the end ",
                      given_back >= kWorthBytes ? absl::StrCat("would give back ", MB(static_cast<uint64_t>(given_back)), ", leaving ",
                                                               MB(trimmed->end.resident), " resident.")
                                                : "would give nothing worth having back.");
    }
    const SweepRow* other = nullptr;
    for (const SweepRow& row : sweep_.rows) {
      if (row.ok() && IsOtherAllocator(row) && IsWorthIt(row) && !RaisesThePeak(row) && (other == nullptr || Gain(row) > Gain(*other))) {
        other = &row;
      }
    }
    if (other != nullptr) {
      absl::StrAppend(&text, " Of other allocators ", PointName(other->point), " comes to ", Held(*other),
                      ": a larger change, whose speed and memory over hours only the program itself can show.");
    }
    return text;
  }

  std::vector<Alternative> Alternatives(std::optional<size_t> recommended) const {
    std::vector<Alternative> alternatives;
    for (size_t i = 1; i < sweep_.rows.size(); ++i) {
      const SweepRow& row = sweep_.rows[i];
      const std::string lever = OnlyLever(row.point);
      if (lever.empty() || !row.ok()) continue;
      if (recommended.has_value() && OnlyLever(sweep_.rows[*recommended].point) == lever) continue;
      const auto known = std::find_if(alternatives.begin(), alternatives.end(),
                                      [&lever](const Alternative& other) { return other.lever == lever; });
      if (known == alternatives.end()) {
        alternatives.push_back({lever, i, Gain(row), ""});
      } else if (Gain(row) > known->gained_bytes) {
        known->row = i;
        known->gained_bytes = Gain(row);
      }
    }
    const int64_t gain = recommended.has_value() ? Gain(sweep_.rows[*recommended]) : 0;
    for (Alternative& alternative : alternatives) alternative.why = Why(alternative, gain);
    return alternatives;
  }

  std::string Why(const Alternative& alternative, int64_t recommended_gain) const {
    const SweepRow& row = sweep_.rows[alternative.row];
    const std::string& lever = alternative.lever;
    if (lever == "malloc_trim") {
      return "gives back once, when it is called, what is free by then: the program must call it, and grows again";
    }
    if (IsWorthIt(row) && IsObjectionable(row)) return Objection(row);
    if (lever == "hugetlb") return "depends on the huge pages that the machine has free, not on the trace";
    if (recommended_gain > 0 && static_cast<double>(alternative.gained_bytes) >= kAsGood * static_cast<double>(recommended_gain)) {
      return FreezesMmapThreshold(row.point.tunables) ? "does as well, by the same freeze" : "does as well, and is the larger change";
    }
    if (const double share = Share(static_cast<double>(alternative.gained_bytes), static_cast<double>(recommended_gain)); share > kHelpsShare) {
      return absl::StrCat("helps less: ", Percent(share), " of what is recommended");
    }
    if (IsWorthIt(row)) return "a larger change: see above";
    if (IsOtherAllocator(row)) return alternative.gained_bytes < 0 ? "holds more" : "holds hardly less";
    if (const std::string why = WhyLeverIsIdle(lever); !why.empty()) return why;
    return alternative.gained_bytes < 0 ? "holds more" : "changes next to nothing";
  }

  // From what the heap looked like as recorded; empty if that does not tell.
  std::string WhyLeverIsIdle(const std::string& lever) const {
    const VerdictFacts& facts = sweep_.facts;
    if (lever == "arena_max") {
      if (facts.threads <= 1) return "one thread allocates, from one arena";
      if (facts.arenas <= 1) return "all threads' blocks lie in one arena already";
      return absl::StrCat("what is held is not spread over arenas: there are ", facts.arenas, ", and fewer hold as much");
    }
    if (lever == "tcache_count") {
      return absl::StrCat("thread caches hold ", MB(sweep_.recorded.thread_cache_bytes));
    }
    if (lever == "trim_threshold" || lever == "top_pad") {
      if (facts.top_bytes > facts.pinned_bytes && facts.top_bytes > kWorthBytes) {
        return "freed blocks in caches lie at the top, so it does not shrink at all";
      }
      return absl::StrCat("moves what the top keeps, ", MB(facts.top_bytes), "; ", MB(facts.pinned_bytes), " are pinned below live blocks");
    }
    if (lever == "mxfast") return "small blocks that wait to be merged are not what is held";
    if (lever == "mmap_threshold") return "what is held are not blocks of such sizes";
    return "";
  }

  const Sweep& sweep_;
  const SweepRow& recorded_;
  const double duration_;  // seconds; 0: not known
};

}  // namespace

uint64_t HeldBytes(const Sweep& sweep, const SweepRow& row) {
  return IsTouched(sweep) ? (row.peak.resident + row.end.resident) / 2 : (row.peak.system + row.end.system) / 2;
}

std::vector<std::string> RemarksOn(const Sweep& sweep, const SweepRow& row) {
  std::vector<std::string> remarks;
  if (!row.ok()) return remarks;
  const SweepRow& recorded = sweep.rows.front();
  if (static_cast<double>(row.peak_mappings) > kManyMappings * kMapLimit) {
    remarks.push_back(absl::StrCat(Grouped(row.peak_mappings), " mappings, ",
                                   Percent(Share(static_cast<double>(row.peak_mappings), kMapLimit)), " of the kernel's limit"));
  }
  const auto peak = static_cast<double>(row.peak.system), was = static_cast<double>(recorded.peak.system);
  if (peak > kPeakMayRise * was && peak > was + kWorthBytes) {
    remarks.push_back(absl::StrCat("peak higher by ", MB(row.peak.system - recorded.peak.system)));
  } else if (row.end.system + kWorthBytes < recorded.end.system && peak > 0.98 * was) {
    remarks.push_back(row.peak_event == recorded.peak_event
                          ? "the end alone: the peak stays"
                          : absl::StrCat("the peak stays, and comes at event ", Grouped(row.peak_event)));
  }
  if (row.unsettled_resident_bytes > row.end.resident + kWorthBytes) {
    remarks.push_back(absl::StrCat("resident ", MB(row.unsettled_resident_bytes), " before it had time to give back"));
  }
  return remarks;
}

Recommendation Recommend(const Sweep& sweep, uint64_t duration_ns) { return Advisor(sweep, duration_ns).Advise(); }

}  // namespace heaptape
