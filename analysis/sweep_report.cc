#include "analysis/sweep_report.h"

#include <algorithm>
#include <numeric>
#include <tuple>
#include <utility>

namespace heaptape {
namespace {

std::vector<size_t> Ranked(const Sweep& sweep) {
  std::vector<size_t> ranked(sweep.rows.size());
  std::iota(ranked.begin(), ranked.end(), 0);
  const auto rank = [&sweep](size_t i) {
    const SweepRow& row = sweep.rows[i];
    return std::tuple(!row.ok(), HeldBytes(sweep, row), row.minor_faults + Total(row.syscalls), i);
  };
  std::sort(ranked.begin(), ranked.end(), [&rank](size_t a, size_t b) { return rank(a) < rank(b); });
  return ranked;
}

}  // namespace

SweepReport MakeSweepReport(const std::string& trace, Sweep sweep, uint64_t duration_ns) {
  SweepReport report;
  report.trace = trace;
  report.sweep = std::move(sweep);
  report.ranked = Ranked(report.sweep);
  report.recommendation = Recommend(report.sweep, duration_ns);
  if (report.recommendation.row.has_value()) {
    const SweepPoint& point = report.sweep.rows[*report.recommendation.row].point;
    report.lines = LinesToPaste(report.sweep.recorded.header, point.tunables);
  }
  return report;
}

}  // namespace heaptape
