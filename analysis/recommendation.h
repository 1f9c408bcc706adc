// Recommendation: which setting of a sweep to use, what it costs, and why not another.
//
// Mainland. Thread-safe; a function of a sweep's rows. Nothing here depends on how
// long a replay took: costs are counted, in page faults and system calls.
//
// A row's *held bytes* are the mean of its peak and its end: resident, where blocks
// were touched, else system bytes. Of the rows that
//
//   hold less by at least a tenth, and a MiB
//   do not raise the peak
//   do not come near the kernel's limit of mappings
//   do not cost out of proportion (below)
//
// those are as good as the best that gain 95 % of what it gains; of these the smallest
// change is recommended: fewest settings, then those that people know, then nearest to the
// defaults. Other allocators
// are told of and never recommended: what else they change no replay shows; nor are huge
// pages, which are the machine's, not the trace's. Out of proportion is what makes page faults and memory system calls, at a
// microsecond each, ten times as dear as recorded, and more than a twentieth of the time
// that the recorded program took.

#ifndef HEAPTAPE_ANALYSIS_RECOMMENDATION_H_
#define HEAPTAPE_ANALYSIS_RECOMMENDATION_H_

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "analysis/sweep.h"
#include "analysis/verdict.h"

namespace heaptape {

// A change that people try, by itself, and what came of it here.
struct Alternative {
  std::string lever;  // "arena_max"
  size_t row = 0;     // the best of the rows that change nothing else
  int64_t gained_bytes = 0;
  std::string why;
};

struct Recommendation {
  Verdict verdict;            // which mechanism is at work as recorded
  std::optional<size_t> row;  // of Sweep::rows; none: nothing helps
  std::string reason;         // why this one, or why none
  std::string freeze;         // whether the value does it, or that it is set at all; may be empty
  std::string price;          // of the row; empty if there is none
  std::vector<std::string> warnings;
  std::vector<Alternative> alternatives;
};

uint64_t HeldBytes(const Sweep& sweep, const SweepRow& row);

// What a reader should know of a row before using it, a phrase each: too many
// mappings, a peak that rose, or only came at another time.
std::vector<std::string> RemarksOn(const Sweep& sweep, const SweepRow& row);

// `duration_ns`: how long the recorded program took; 0: not known.
Recommendation Recommend(const Sweep& sweep, uint64_t duration_ns);

}  // namespace heaptape

#endif  // HEAPTAPE_ANALYSIS_RECOMMENDATION_H_
