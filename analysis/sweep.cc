#include "analysis/sweep.h"

#include <algorithm>
#include <atomic>
#include <mutex>
#include <optional>
#include <thread>
#include <utility>

#include "absl/strings/str_cat.h"
#include "analysis/replay_heap.h"

namespace heaptape {
namespace {

using Clock = std::chrono::steady_clock;

// Those of the holes that reports tell of.
constexpr size_t kHolesDetailed = 10;

SweepRow RowOf(const SweepPoint& point, const ReplayResult& result, const HolesReport& holes) {
  SweepRow row;
  row.point = point;
  row.peak = {result.peak_requested.bytes, result.peak_usable.bytes, result.peak_system.bytes,
              result.peak_resident.bytes};
  row.end = {result.requested_bytes, result.usable_bytes, result.system_bytes, result.resident_bytes};
  row.peak_event = result.peak_system.event;
  row.trimmable_bytes = holes.trimmable_bytes;
  if (result.unsettled.has_value()) {
    row.unsettled_system_bytes = result.unsettled->system_bytes;
    row.unsettled_resident_bytes = result.unsettled->resident_bytes;
  }
  row.syscalls = result.syscalls;
  row.minor_faults = result.minor_faults;
  row.peak_mappings = result.peak_mappings;
  row.digest = result.digest;
  row.replay_seconds = result.replay_seconds;
  row.allocator_seconds = result.allocator_seconds;
  return row;
}

std::vector<SweepPoint> AllPoints(const std::vector<SweepPoint>& points) {
  std::vector<SweepPoint> all = {SweepPoint(), FreezeProbe()};
  for (const SweepPoint& point : points) {
    if (std::find(all.begin(), all.end(), point) == all.end()) all.push_back(point);
  }
  return all;
}

class Runner {
 public:
  Runner(Replayer* replayer, const SweepOptions& options, const SweepSink& sink, const ReplayProgress& progress)
      : replayer_(replayer), options_(options), sink_(sink), progress_(progress) {}

  absl::StatusOr<Sweep> Run(const std::vector<SweepPoint>& points) {
    for (const SweepPoint& point : AllPoints(points)) sweep_.rows.emplace_back().point = point;
    positions_.resize(sweep_.rows.size());
    const auto work = [this] {
      for (size_t i; (i = next_.fetch_add(1)) < sweep_.rows.size();) Do(i);
    };
    std::vector<std::thread> beside;
    const size_t jobs = std::min<size_t>(std::max(options_.jobs, 1u), sweep_.rows.size());
    for (size_t i = 1; i < jobs; ++i) beside.emplace_back(work);
    work();
    for (std::thread& thread : beside) thread.join();
    if (!first_.ok()) return first_;
    sweep_.stopped = stopped_;
    AddProbes();
    return std::move(sweep_);
  }

 private:
  void Do(size_t i) {
    SweepRow& row = sweep_.rows[i];
    if (stopped_) {
      row.failure = "not done: the sweep was stopped";
      return;
    }
    const auto known = std::find_if(options_.known.begin(), options_.known.end(),
                                    [&row](const SweepRow& other) { return other.point == row.point; });
    // The first is replayed all the same, for what a row does not tell of it.
    if (i > 0 && known != options_.known.end()) {
      row = *known;
      Tell(i, {1, 0});
      return;
    }
    absl::StatusOr<SweepRow> done = Replay(i);
    if (i == 0 && !done.ok()) {
      first_ = done.status();
      stopped_ = true;
    }
    if (done.ok()) {
      row = *std::move(done);
    } else {
      row.failure = std::string(done.status().message());
    }
    Tell(i, {1, sweep_.facts.at_event});
    const std::lock_guard<std::mutex> lock(mutex_);
    if (sink_ != nullptr && (row.ok() || !stopped_)) sink_(row);
  }

  absl::StatusOr<SweepRow> Replay(size_t i) {
    const SweepPoint point = sweep_.rows[i].point;
    ReplaySettings settings = options_.settings;
    settings.tunables = point.tunables;
    settings.allocator = point.allocator;
    settings.trim_at_end = point.trim_at_end;
    if (point.allocator == "glibc") settings.settle_ms = 0;  // it does not look at the clock
    Clock::time_point moved = Clock::now();
    uint64_t events = 0;
    bool hangs = false;
    absl::StatusOr<ReplayResult> result = replayer_->Run(settings, [&](const ReplayPosition& position) {
      if (position.events != events) {
        events = position.events;
        moved = Clock::now();
      }
      hangs = Clock::now() - moved > options_.patience;
      return Tell(i, position) && !hangs;
    });
    if (hangs) {
      return absl::DeadlineExceededError(
          absl::StrCat("hangs: nothing more for ", options_.patience.count(), " s behind event ", events));
    }
    if (!result.ok()) return result.status();
    if (result->stopped) return absl::CancelledError("not done: the sweep was stopped");
    const absl::StatusOr<HolesReport> holes = FindHoles(*result, kHolesDetailed);
    if (!holes.ok()) return holes.status();
    const SweepRow row = RowOf(point, *result, *holes);
    if (i == 0) {
      sweep_.facts = FactsOf(*result, *holes);
      sweep_.recorded = *std::move(result);
      sweep_.holes = *holes;
    }
    return row;
  }

  // Notes how far row `i` is. False once the sweep is to end.
  bool Tell(size_t i, const ReplayPosition& position) {
    const std::lock_guard<std::mutex> lock(mutex_);
    positions_[i] = position;
    if (progress_ == nullptr) return !stopped_;
    ReplayPosition all;
    for (const ReplayPosition& row : positions_) {
      all.fraction += row.fraction / static_cast<double>(positions_.size());
      all.events += row.events;
    }
    if (!progress_(all)) stopped_ = true;
    return !stopped_;
  }

  // The probes of a verdict that the sweep has made anyway.
  void AddProbes() {
    const auto probe = [this](const SweepPoint& point, const char* purpose) -> std::optional<VerdictProbe> {
      for (const SweepRow& row : sweep_.rows) {
        if (row.ok() && row.point == point) {
          return VerdictProbe{PointName(point), purpose, row.end.system, row.peak.system, row.peak_mappings,
                              Total(row.syscalls)};
        }
      }
      return std::nullopt;
    };
    const auto with = [](const char* name, const char* value) {
      SweepPoint point;
      point.tunables[name] = value;
      return point;
    };
    sweep_.facts.frozen = probe(FreezeProbe(), "the default, which keeps the mmap threshold from moving");
    sweep_.facts.one_arena = probe(with("glibc.malloc.arena_max", "1"), "one arena for all threads");
    sweep_.facts.no_thread_cache = probe(with("glibc.malloc.tcache_count", "0"), "no thread caches");
  }

  Replayer* const replayer_;
  const SweepOptions& options_;
  const SweepSink& sink_;
  const ReplayProgress& progress_;
  Sweep sweep_;
  std::atomic<size_t> next_{0};
  std::atomic<bool> stopped_{false};
  std::mutex mutex_;  // for positions_, sink_ and progress_
  std::vector<ReplayPosition> positions_;
  absl::Status first_;
};

}  // namespace

absl::StatusOr<Sweep> RunSweep(Replayer* replayer, const std::vector<SweepPoint>& points, const SweepOptions& options,
                               const SweepSink& sink, const ReplayProgress& progress) {
  return Runner(replayer, options, sink, progress).Run(points);
}

}  // namespace heaptape
