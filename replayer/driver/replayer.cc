#include "replayer/driver/replayer.h"

#include <algorithm>
#include <chrono>
#include <cstring>
#include <optional>
#include <utility>
#include <vector>

#include "absl/numeric/bits.h"
#include "absl/strings/str_cat.h"
#include "replayer/driver/engine_environment.h"
#include "replayer/driver/engine_process.h"
#include "replayer/driver/growth_log.h"
#include "replayer/driver/plan_writer.h"
#include "replayer/driver/replay_comparison.h"
#include "replayer/driver/result_reader.h"
#include "replayer/driver/settings_check.h"
#include "replayer/driver/shared_memory.h"
#include "replayer/driver/tunables.h"

namespace heaptape {

namespace {

using Clock = std::chrono::steady_clock;

// Of a plan that is not kept: enough that neither side waits for the other.
constexpr uint64_t kWindowBytes = 64 << 20;

constexpr std::chrono::milliseconds kProgressInterval(100);

// An engine that was told to stop and has not after so long is in a call that does
// not come back.
constexpr std::chrono::seconds kStopPatience(5);

// A replay that was stopped behind more events than this is not joined with the
// trace: whoever stops it does not want to wait.
constexpr uint64_t kMostEventsToJoin = 100'000'000;

double SecondsSince(Clock::time_point start) {
  return std::chrono::duration<double>(Clock::now() - start).count();
}

absl::Status TooLarge() {
  return absl::ResourceExhaustedError(absl::StrCat("the trace has more than ", kSlotCapacity,
                                                   " live blocks or ", kLaneCapacity, " threads"));
}

}  // namespace

// A plan that is kept.
struct Replayer::Plan {
  SharedMemory words;
  PlanOutcome outcome;
};

// One replay: an engine, what it shares with us, and what it is fed.
class Replayer::Session {
 public:
  Session(const ReplaySettings& settings, const ReplayProgress& progress,
          const MemoryCallSink& memory_calls)
      : settings_(settings),
        progress_(progress),
        memory_calls_(memory_calls),
        started_(Clock::now()),
        reported_(started_) {}

  absl::Status Start(const Header& header, const PlanOptions& options, uint64_t expected_events,
                     const SharedMemory& ring) {
    const absl::StatusOr<Tunables> tunables = Tunables::Load(settings_.glibc_directory);
    if (!tunables.ok()) return tunables.status();
    absl::StatusOr<EngineEnvironment> environment =
        ComposeEnvironment(header, settings_, *tunables);
    if (!environment.ok()) return environment.status();
    environment_ = *std::move(environment);
    const absl::StatusOr<std::string> engine = FindEngine();
    if (!engine.ok()) return engine.status();

    if (settings_.allocator == "glibc") {
      const absl::Status in_force = CheckSettings(
          *engine, settings_.glibc_directory, environment_.variables, environment_.tunables);
      if (!in_force.ok()) return in_force;
    }

    absl::StatusOr<SharedMemory> shared = SharedMemory::Create("heaptape shared", kSharedBytes, kSlotsOffset);
    if (!shared.ok()) return shared.status();
    shared_.emplace(*std::move(shared));
    SharedHeader& to_engine = *header_of_shared();
    to_engine.version = kSharedVersion;
    to_engine.touch = settings_.touch;
    to_engine.token_mode = settings_.token_mode;
    to_engine.placement = options.placement;
    to_engine.move_contents = settings_.move_contents;
    to_engine.keep_call_sites = settings_.keep_call_sites;
    to_engine.trim_at_end = settings_.trim_at_end;
    to_engine.settle_ms = settings_.settle_ms;
    to_engine.overcommit = header.overcommit_memory();
    to_engine.expected_events = expected_events;
    to_engine.ring_words = ring.bytes() / sizeof(uint64_t);
    calls_.emplace(shared_->data(), [this](const MemoryCall& call) {
      growth_.Add(call);
      if (memory_calls_ != nullptr) memory_calls_(call);
    });

    absl::StatusOr<std::unique_ptr<EngineProcess>> process = EngineProcess::Start(
        *engine, settings_.glibc_directory, environment_.variables, shared_->fd(), ring.fd());
    if (!process.ok()) return process.status();
    process_ = *std::move(process);
    return absl::OkStatus();
  }

  // Compiles `source` into the ring. True if the whole plan went in; false if
  // the replay has ended before it.
  absl::StatusOr<bool> Feed(EventSource* source, PlanCompiler* compiler, SharedMemory* ring) {
    PlanWriter writer(header_of_shared(), reinterpret_cast<uint64_t*>(ring->data()),
                      [&] { return GoOn(source->fraction_read(), compiler->totals().events); });
    std::vector<Event> events;
    std::vector<uint64_t> words;
    for (;;) {
      const absl::StatusOr<bool> more = source->Next(&events);
      if (!more.ok()) return more.status();
      if (!*more) break;
      words.clear();
      const bool wants_more = compiler->Add(source->first_event(), events, &words);
      if (compiler->totals().too_large) return TooLarge();
      if (!writer.Write(words) || !GoOn(source->fraction_read(), compiler->totals().events)) {
        return false;
      }
      if (!wants_more) break;
    }
    words.clear();
    compiler->Finish(&words);
    return writer.Write(words);
  }

  // Lets the engine read a plan that is already in the ring.
  void Offer(uint64_t words) {
    __atomic_store_n(&header_of_shared()->committed, words, __ATOMIC_RELEASE);
  }

  // Waits for the end. `outcome` is null if the plan did not go in whole.
  absl::StatusOr<ReplayResult> Finish(const Header& header, const PlanOutcome* outcome) {
    SharedHeader* shared = header_of_shared();
    for (;;) {
      const uint32_t seen = __atomic_load_n(&shared->consumed_futex, __ATOMIC_ACQUIRE);
      if (!GoOn(1, outcome == nullptr ? 0 : outcome->totals.events)) break;
      AwaitEngine(shared, seen);
    }
    if (hangs_) {
      process_.reset();
      return absl::DeadlineExceededError(
          "a call of the allocator does not come back, so there is no result");
    }
    const absl::Status ended = process_->Wait();
    if (!ended.ok()) return ended;
    calls_->Drain();
    calls_.reset();
    const uint64_t slots = std::min(shared->slot_count, kSlotCapacity);
    const absl::Status mapped = shared_->Remap(kSlotsOffset + slots * sizeof(Slot));
    if (!mapped.ok()) return mapped;
    shared = header_of_shared();
    if (StateOf(*shared) == EngineState::kFailed) {
      const size_t length = strnlen(shared->failure, sizeof(shared->failure));
      return absl::InternalError(
          absl::StrCat("replay failed: ", absl::string_view(shared->failure, length)));
    }
    ReplayResult result = ReadResult(shared_->data(), outcome);
    result.header = header;
    result.settings.tunables = environment_.tunables;
    result.settings.arena_limit = environment_.arena_limit;
    result.settings.environment = environment_.variables;
    result.settings.allocator = settings_.allocator;
    result.settings.notes.insert(result.settings.notes.end(), environment_.notes.begin(),
                                 environment_.notes.end());
    result.growth = growth_.steps();
    result.replay_seconds = SecondsSince(started_);
    return result;
  }

 private:
  SharedHeader* header_of_shared() { return reinterpret_cast<SharedHeader*>(shared_->data()); }

  // Reports progress, which is the engine's: of what has been compiled, a fraction
  // of the trace that ends with event number `events`, it has done a part. False
  // once the engine is done, one way or another.
  bool GoOn(double fraction, uint64_t events) {
    calls_->Drain();
    const EngineState state = StateOf(*header_of_shared());
    if (state != EngineState::kStarting && state != EngineState::kRunning) return false;
    const Clock::time_point now = Clock::now();
    if (now - reported_ < kProgressInterval) return true;
    reported_ = now;
    if (process_->HasExited()) return false;
    if (stop_asked_.has_value()) {
      hangs_ = now - *stop_asked_ > kStopPatience;
      return !hangs_;
    }
    if (progress_ == nullptr) return true;
    const uint64_t committed = __atomic_load_n(&header_of_shared()->committed, __ATOMIC_ACQUIRE);
    const uint64_t consumed = __atomic_load_n(&header_of_shared()->consumed, __ATOMIC_ACQUIRE);
    const double done = committed == 0 ? 0 : static_cast<double>(consumed) / committed;
    position_.fraction = std::max(position_.fraction, fraction * done);
    position_.events = std::max(position_.events, static_cast<uint64_t>(events * done));
    if (!progress_(position_)) {
      __atomic_store_n(&header_of_shared()->stop, 1, __ATOMIC_RELAXED);
      stop_asked_ = now;
    }
    return true;
  }

  const ReplaySettings& settings_;
  const ReplayProgress& progress_;
  const MemoryCallSink& memory_calls_;
  const Clock::time_point started_;
  Clock::time_point reported_;
  std::optional<Clock::time_point> stop_asked_;
  bool hangs_ = false;  // and was told to stop
  ReplayPosition position_;
  EngineEnvironment environment_;
  std::optional<SharedMemory> shared_;
  std::optional<MemoryCallReader> calls_;
  GrowthLog growth_;
  std::unique_ptr<EngineProcess> process_;
};

absl::StatusOr<std::unique_ptr<Replayer>> Replayer::Create(EventSourceFactory events,
                                                           const PlanOptions& options,
                                                           uint64_t plan_budget_bytes) {
  absl::StatusOr<std::unique_ptr<EventSource>> source = events();
  if (!source.ok()) return source.status();
  uint64_t expected_events = (*source)->EventsAhead();
  if (options.until_event != 0) expected_events = std::min(expected_events, options.until_event);
  return std::unique_ptr<Replayer>(new Replayer(
      std::move(events), options, absl::bit_ceil(std::max<uint64_t>(plan_budget_bytes, 4096)),
      expected_events, (*source)->header()));
}

Replayer::Replayer(EventSourceFactory events, const PlanOptions& options,
                   uint64_t plan_budget_bytes, uint64_t expected_events, Header header)
    : events_(std::move(events)),
      options_(options),
      plan_budget_bytes_(plan_budget_bytes),
      expected_events_(expected_events),
      header_(std::move(header)) {}

Replayer::~Replayer() = default;

absl::StatusOr<ReplayResult> Replayer::Run(const ReplaySettings& settings,
                                           const ReplayProgress& progress,
                                           const MemoryCallSink& memory_calls) {
  absl::StatusOr<ReplayResult> result = RunOnce(settings, progress, memory_calls);
  if (result.ok() && result->stopped && result->events_done <= kMostEventsToJoin) {
    const absl::StatusOr<PlanOutcome> outcome = CompileUntil(result->events_done);
    if (outcome.ok()) JoinStopped(*outcome, &*result);
  }
  if (!settings.check || !result.ok() || result->stopped) return result;
  const absl::StatusOr<ReplayResult> again = RunOnce(settings, progress, nullptr);
  if (!again.ok()) return again.status();
  if (again->stopped) return result;
  const absl::Status same = CompareReplays(*result, *again);
  if (!same.ok()) return same;
  return result;
}

absl::StatusOr<PlanOutcome> Replayer::CompileUntil(uint64_t events) const {
  absl::StatusOr<std::unique_ptr<EventSource>> source = events_();
  if (!source.ok()) return source.status();
  PlanOptions options = options_;
  options.until_event = std::max<uint64_t>(events, 1);
  PlanCompiler compiler(options, expected_events_);
  std::vector<Event> batch;
  std::vector<uint64_t> words;
  for (;;) {
    const absl::StatusOr<bool> more = (*source)->Next(&batch);
    if (!more.ok()) return more.status();
    if (!*more) break;
    words.clear();
    if (!compiler.Add((*source)->first_event(), batch, &words)) break;
  }
  return PlanOutcome{compiler.totals(), compiler.blocks(), compiler.samples().requested_bytes(),
                     (*source)->health()};
}

absl::StatusOr<ReplayResult> Replayer::RunOnce(const ReplaySettings& settings,
                                               const ReplayProgress& progress,
                                               const MemoryCallSink& memory_calls) {
  if (options_.placement && settings.allocator != "glibc") {
    return absl::InvalidArgumentError("placement can only be compared under glibc");
  }
  Session session(settings, progress, memory_calls);
  std::unique_lock<std::mutex> lock(mutex_);
  if (plan_ != nullptr) {
    lock.unlock();
    const absl::Status started = session.Start(header_, options_, expected_events_, plan_->words);
    if (!started.ok()) return started;
    session.Offer(plan_->outcome.totals.words);
    return session.Finish(header_, &plan_->outcome);
  }
  const bool keep = !plan_is_too_large_;
  if (!keep) lock.unlock();

  absl::StatusOr<SharedMemory> ring =
      SharedMemory::Create("heaptape plan", keep ? plan_budget_bytes_ : kWindowBytes);
  if (!ring.ok()) return ring.status();
  absl::StatusOr<std::unique_ptr<EventSource>> source = events_();
  if (!source.ok()) return source.status();
  const absl::Status started = session.Start(header_, options_, expected_events_, *ring);
  if (!started.ok()) return started;
  PlanCompiler compiler(options_, expected_events_);
  const absl::StatusOr<bool> whole = session.Feed(source->get(), &compiler, &*ring);
  if (!whole.ok()) return whole.status();
  if (!*whole) return session.Finish(header_, nullptr);

  PlanOutcome outcome = {compiler.totals(), compiler.blocks(), compiler.samples().requested_bytes(),
                         (*source)->health()};
  if (keep && outcome.totals.words * sizeof(uint64_t) <= ring->bytes()) {
    plan_.reset(new Plan{*std::move(ring), std::move(outcome)});
    lock.unlock();
    return session.Finish(header_, &plan_->outcome);
  }
  if (keep) {
    plan_is_too_large_ = true;
    lock.unlock();
  }
  return session.Finish(header_, &outcome);
}

bool CanComparePlacement(const Header& header, const ReplaySettings& settings) {
  return header.allocator() == "glibc" && !header.compacted() && settings.allocator == "glibc" &&
         settings.glibc_directory.empty() && settings.tunables.empty();
}

absl::StatusOr<ReplayResult> Replay(const std::string& path, const PlanOptions& options,
                                    const ReplaySettings& settings,
                                    const ReplayProgress& progress) {
  absl::StatusOr<std::unique_ptr<Replayer>> replayer = Replayer::Create(TraceFile(path), options);
  if (!replayer.ok()) return replayer.status();
  return (*replayer)->Run(settings, progress);
}

}  // namespace heaptape
