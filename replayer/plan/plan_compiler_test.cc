#include "replayer/plan/plan_compiler.h"

#include <algorithm>
#include <map>
#include <random>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "gtest/gtest.h"
#include "proto/random_events.h"
#include "replayer/plan/plan_checker.h"

namespace heaptape {
namespace {

// What the engine is asked to do for one event.
struct Step {
  uint64_t event;
  Op op;
  uint32_t lane;
  uint64_t block;  // a number that no other block ever has
  uint64_t size;

  bool operator==(const Step&) const = default;
};

std::ostream& operator<<(std::ostream& out, const Step& step) {
  return out << step.event << ": op " << int(step.op) << " lane " << step.lane << " block "
             << step.block << " size " << step.size;
}

// Carries a plan out the slow way.
class Interpreter {
 public:
  void Run(const std::vector<uint64_t>& words) {
    for (size_t i = 0; i < words.size(); ++i) {
      const uint64_t word = words[i];
      const Op op = OpOf(word);
      const uint64_t slot = SlotOf(word);
      const uint64_t size = IsWide(word) ? words[++i] : SizeOf(word);
      switch (op) {
        case Op::kMalloc:
        case Op::kCalloc:
        case Op::kMemalign:
          block_[slot] = ++blocks_;
          Note(++events_, op, block_[slot], size);
          break;
        case Op::kRealloc:
          Note(++events_, op, block_[slot], size);
          break;
        case Op::kFree:
          Note(++events_, op, block_[slot], 0);
          block_.erase(slot);
          break;
        case Op::kDrop:
          Note(events_, op, block_[slot], 0);
          block_.erase(slot);
          break;
        case Op::kLane:
          lane_ = slot;
          break;
        case Op::kLaneEnd:
          Note(++events_, op, 0, 0);
          break;
        case Op::kSkip:
          events_ += size;
          break;
        case Op::kMallopt:
          Note(++events_, op, 0, size);
          break;
        case Op::kTrim:
          events_ += 1 - slot;
          Note(events_, op, 0, size);
          break;
        case Op::kSample:
          ASSERT_EQ(slot, samples_.size());
          samples_.push_back(events_);
          break;
        case Op::kHalve:
          for (size_t k = 0; k < samples_.size() / 2; ++k) samples_[k] = samples_[2 * k];
          samples_.resize(samples_.size() / 2);
          break;
        case Op::kSlots:
        case Op::kEnd:
          break;
      }
    }
  }

  const std::vector<Step>& steps() const { return steps_; }
  const std::vector<uint64_t>& samples() const { return samples_; }
  uint64_t events() const { return events_; }
  const std::map<uint64_t, uint64_t>& blocks() const { return block_; }

 private:
  void Note(uint64_t event, Op op, uint64_t block, uint64_t size) {
    steps_.push_back({event, op, lane_, block, size});
  }

  uint64_t events_ = 0;
  uint64_t blocks_ = 0;
  uint32_t lane_ = 0;
  std::map<uint64_t, uint64_t> block_;  // by slot
  std::vector<Step> steps_;
  std::vector<uint64_t> samples_;
};

// What a plan for events should do, told without slots, words or cleverness.
class Reference {
 public:
  struct Block {
    uint64_t number, event, size;
    uint32_t thread;
  };

  void Add(const Event& e) {
    ++event_;
    const bool fails = e.address == 0;
    switch (e.kind) {
      case EventKind::kMalloc:
        return Allocate(e, Op::kMalloc);
      case EventKind::kCalloc:
        return Allocate(e, Op::kCalloc);
      case EventKind::kMemalign:
      case EventKind::kAlignedAlloc:
      case EventKind::kPosixMemalign:
      case EventKind::kValloc:
      case EventKind::kPvalloc:
        return Allocate(e, Op::kMemalign);
      case EventKind::kFree:
        if (live_.count(e.address) == 0) {
          orphans_ += e.address != 0;
          return;
        }
        Note(e, Op::kFree, live_[e.address].number, 0);
        live_.erase(e.address);
        return;
      case EventKind::kRealloc:
      case EventKind::kReallocBegin: {
        Pending pending{e.thread, e.old_address, {}, false};
        if (e.old_address != 0) {
          pending.known = live_.count(e.old_address) != 0;
          orphans_ += !pending.known;
          if (pending.known) pending.block = live_[e.old_address];
          live_.erase(e.old_address);
        }
        if (e.kind == EventKind::kReallocBegin) {
          pending_.push_back(pending);
        } else if (e.old_address == 0) {
          Allocate(e, Op::kMalloc);
        } else {
          Finish(e, pending);
        }
        return;
      }
      case EventKind::kReallocEnd:
        for (size_t i = pending_.size(); i-- > 0;) {
          if (pending_[i].thread != e.thread) continue;
          const Pending pending = pending_[i];
          pending_.erase(pending_.begin() + i);
          return Finish(e, pending);
        }
        ++contradictions_;
        if (!fails || e.size != 0) Allocate(e, Op::kMalloc);
        return;
      default:
        return;
    }
  }

  const std::vector<Step>& steps() const { return steps_; }
  const std::map<uint64_t, Block>& live() const { return live_; }
  uint64_t orphans() const { return orphans_; }
  uint64_t contradictions() const { return contradictions_; }
  uint64_t failed() const { return failed_; }

 private:
  struct Pending {
    uint32_t thread;
    uint64_t address;
    Block block;
    bool known;
  };

  void Allocate(const Event& e, Op op) {
    if (e.address == 0) {
      ++failed_;
      return;
    }
    Drop(e);
    live_[e.address] = {++blocks_, event_, e.size, e.thread};
    Note(e, op, blocks_, e.size);
  }

  void Finish(const Event& e, const Pending& pending) {
    if (!pending.known) {
      if (e.address != 0 || e.size != 0) Allocate(e, Op::kMalloc);
    } else if (e.address == 0 && e.size == 0) {
      Note(e, Op::kFree, pending.block.number, 0);
    } else if (e.address == 0) {
      ++failed_;
      if (!live_.emplace(pending.address, pending.block).second) ++contradictions_;
    } else {
      Drop(e);
      live_[e.address] = {pending.block.number, event_, e.size, e.thread};
      Note(e, Op::kRealloc, pending.block.number, std::max<uint64_t>(e.size, 1));
    }
  }

  void Drop(const Event& e) {
    const auto old = live_.find(e.address);
    if (old == live_.end()) return;
    ++contradictions_;
    steps_.push_back({event_ - 1, Op::kDrop, 0, old->second.number, 0});
    live_.erase(old);
  }

  void Note(const Event& e, Op op, uint64_t block, uint64_t size) {
    steps_.push_back({event_, op, e.thread, block, size});
  }

  uint64_t event_ = 0, blocks_ = 0, orphans_ = 0, contradictions_ = 0, failed_ = 0;
  std::map<uint64_t, Block> live_;  // by address
  std::vector<Pending> pending_;
  std::vector<Step> steps_;
};

struct Compiled {
  std::vector<uint64_t> words;
  Interpreter run;
  PlanTotals totals;
  PlanBlocks blocks;
  std::vector<uint64_t> sample_requested;
};

Compiled Compile(const std::vector<Event>& events, const PlanOptions& options = {},
                 size_t batch = 1000) {
  Compiled result;
  PlanCompiler compiler(options);
  for (size_t i = 0; i < events.size(); i += batch) {
    const size_t n = std::min(batch, events.size() - i);
    if (!compiler.Add(i + 1, absl::MakeConstSpan(events).subspan(i, n), &result.words)) break;
  }
  compiler.Finish(&result.words);
  PlanChecker checker;
  absl::Status status = checker.Add(result.words);
  if (status.ok()) status = checker.Finish();
  EXPECT_TRUE(status.ok()) << status.ToString();
  EXPECT_EQ(checker.events(), compiler.totals().events);
  result.run.Run(result.words);
  result.totals = compiler.totals();
  result.blocks = compiler.blocks();
  result.sample_requested = compiler.samples().requested_bytes();
  return result;
}

// Lanes of drops mean nothing.
std::vector<Step> WithoutDropLanes(std::vector<Step> steps) {
  for (Step& step : steps) {
    if (step.op == Op::kDrop) step.lane = 0;
  }
  return steps;
}

void ExpectAsReference(const std::vector<Event>& events) {
  Reference reference;
  for (const Event& event : events) reference.Add(event);
  const Compiled compiled = Compile(events);

  const std::vector<Step> steps = WithoutDropLanes(compiled.run.steps());
  ASSERT_EQ(steps.size(), reference.steps().size());
  for (size_t i = 0; i < steps.size(); ++i) ASSERT_EQ(steps[i], reference.steps()[i]);
  EXPECT_EQ(compiled.totals.orphan_frees, reference.orphans());
  EXPECT_EQ(compiled.totals.contradictions, reference.contradictions());
  EXPECT_EQ(compiled.totals.failed_allocations, reference.failed());
  EXPECT_EQ(compiled.totals.live_blocks, compiled.run.blocks().size());

  // Each block that has a name is described as the trace describes it.
  std::map<uint64_t, uint64_t> slot_of;
  for (const auto& [slot, number] : compiled.run.blocks()) slot_of[number] = slot;
  uint64_t requested = 0;
  for (const auto& [address, block] : reference.live()) {
    ASSERT_EQ(slot_of.count(block.number), 1u);
    const PlanBlock& described = compiled.blocks[slot_of[block.number]];
    EXPECT_EQ(described.recorded_address, address);
    EXPECT_EQ(described.event, block.event);
    EXPECT_EQ(described.requested_bytes, block.size);
    EXPECT_EQ(described.thread, block.thread);
    requested += block.size;
  }
  EXPECT_LE(requested, compiled.totals.requested_bytes);  // less the unnamed and pending
}

TEST(PlanCompiler, AgreesWithReferenceOnWellFormedTraces) {
  for (uint64_t seed = 1; seed <= 10; ++seed) {
    RandomEventsOptions options;
    options.seed = seed;
    options.count = 20000;
    options.threads = seed;
    ExpectAsReference(RandomEvents(options));
  }
}

// Any kind, any address out of a few: nearly every event breaks some rule.
TEST(PlanCompiler, AgreesWithReferenceOnNonsense) {
  for (uint64_t seed = 1; seed <= 20; ++seed) {
    std::mt19937_64 random(seed);
    std::vector<Event> events(5000);
    for (Event& event : events) {
      do {
        event.kind = static_cast<EventKind>(random() % kEventKinds);
      } while (event.kind >= EventKind::kThreadEnd || event.kind == EventKind::kPvalloc);
      const uint64_t addresses = 1 + seed * 3;
      event.address = random() % addresses * 16;
      event.old_address = random() % addresses * 16;
      event.size = random() % 4 * 100;
      event.thread = random() % 3;
      event.alignment_log2 = random() % 256;
    }
    ExpectAsReference(events);
  }
}

TEST(PlanCompiler, SplitReallocRestoresItsBlockWhenItFails) {
  const Compiled compiled = Compile({{.address = 16, .size = 5},
                                     {.old_address = 16, .kind = EventKind::kReallocBegin},
                                     {.address = 0, .size = 9, .kind = EventKind::kReallocEnd},
                                     {.address = 16, .kind = EventKind::kFree}});
  EXPECT_EQ(compiled.totals.live_blocks, 0u);
  EXPECT_EQ(compiled.totals.orphan_frees, 0u);
  EXPECT_EQ(compiled.totals.failed_allocations, 1u);
}

TEST(PlanCompiler, SlotsStayDense) {
  std::vector<Event> events;
  for (uint64_t i = 0; i < 100000; ++i) {
    events.push_back({.address = 16 + i * 16, .size = 1});
    if (i >= 10) events.push_back({.address = 16 + (i - 10) * 16, .kind = EventKind::kFree});
  }
  EXPECT_EQ(Compile(events).blocks.size(), 11u);
}

TEST(PlanCompiler, WideSizesAndAlignments) {
  const uint64_t big = uint64_t{1} << 40;
  const Compiled compiled =
      Compile({{.address = 16, .size = big},
               {.address = 32, .old_address = 16, .size = big + 1, .kind = EventKind::kRealloc},
               {.address = 48, .size = 4294967295},
               {.address = 64, .size = 100, .kind = EventKind::kPvalloc, .alignment_log2 = 12}});
  const std::vector<Step>& steps = compiled.run.steps();
  ASSERT_EQ(steps.size(), 4u);
  EXPECT_EQ(steps[0].size, big);
  EXPECT_EQ(steps[1].size, big + 1);
  EXPECT_EQ(steps[2].size, 4294967295);
  EXPECT_EQ(steps[3].size, 4096u) << "pvalloc rounds up to pages";
  EXPECT_EQ(compiled.totals.requested_bytes, big + 1 + 4294967295 + 100);
}

TEST(PlanCompiler, ReallocToNothingFreesOnlyIfItDid) {
  EXPECT_EQ(Compile({{.address = 16, .size = 5}, {.old_address = 16, .kind = EventKind::kRealloc}})
                .totals.live_blocks,
            0u);
  // Another allocator than glibc gave a block.
  const Compiled kept = Compile({{.address = 16, .size = 5},
                                 {.address = 32, .old_address = 16, .kind = EventKind::kRealloc}});
  EXPECT_EQ(kept.totals.live_blocks, 1u);
  EXPECT_EQ(kept.run.steps()[1].size, 1u);
  EXPECT_EQ(kept.totals.requested_bytes, 0u);
}

TEST(PlanCompiler, ThreadsBecomeLanes) {
  const auto start = [](uint32_t thread) {
    return Event{.thread = thread, .kind = EventKind::kThreadStart};
  };
  const auto end = [](uint32_t thread) {
    return Event{.thread = thread, .kind = EventKind::kThreadEnd};
  };
  const Compiled compiled = Compile({{.address = 16, .size = 1},
                                     start(1),
                                     start(2),
                                     {.address = 32, .size = 1, .thread = 1},
                                     {.address = 48, .size = 1, .thread = 1},
                                     end(2),
                                     {.address = 64, .size = 1},
                                     end(1),
                                     {.address = 32, .thread = 1, .kind = EventKind::kFree},
                                     end(0)});
  const std::vector<Step>& steps = compiled.run.steps();
  ASSERT_EQ(steps.size(), 6u);
  EXPECT_EQ(steps[0].lane, 0u);
  EXPECT_EQ(steps[1].lane, 1u);
  EXPECT_EQ(steps[2].lane, 1u);
  EXPECT_EQ(steps[3].lane, 0u);
  EXPECT_EQ(steps[4], (Step{8, Op::kLaneEnd, 1, 0, 0})) << "thread 2 made no call, so has no lane";
  EXPECT_EQ(steps[5].lane, 0u) << "late free";
  EXPECT_EQ(compiled.totals.threads, 2u);
  EXPECT_EQ(compiled.totals.late_calls, 1u);
  EXPECT_EQ(compiled.run.events(), 10u);
}

TEST(PlanCompiler, MalloptIsReplayedUnlessIgnored) {
  const std::vector<Event> events = {{.address = 1,
                                      .old_address = 65536,
                                      .size = static_cast<uint32_t>(-3),
                                      .kind = EventKind::kMallopt},
                                     {.address = 1, .size = 99, .kind = EventKind::kMallocTrim}};
  const Compiled compiled = Compile(events);
  ASSERT_EQ(compiled.run.steps().size(), 2u);
  EXPECT_EQ(compiled.run.steps()[0].size, uint64_t{65536} << 32 | 0xfffffffd);
  EXPECT_EQ(compiled.run.steps()[1].size, 99u);
  EXPECT_EQ(Compile(events, {.ignore_mallopt = true}).run.steps().size(), 1u);
}

TEST(PlanCompiler, GapsKeepEventNumbers) {
  PlanCompiler compiler;
  std::vector<uint64_t> words;
  const Event event{.address = 16, .size = 1};
  compiler.Add(5, {event}, &words);
  const Event other{.address = 32, .size = 1};
  compiler.Add(1000000, {other}, &words);
  compiler.Finish(&words);
  Interpreter run;
  run.Run(words);
  EXPECT_EQ(run.steps()[0].event, 5u);
  EXPECT_EQ(run.steps()[1].event, 1000000u);
  EXPECT_EQ(run.samples(), (std::vector<uint64_t>{4, 999999, 1000000}));
  EXPECT_EQ(compiler.totals().missing_events, 4u + 999994u);
}

TEST(PlanCompiler, UntilAndTrim) {
  std::vector<Event> events;
  for (uint64_t i = 1; i <= 100; ++i) events.push_back({.address = 16 * i, .size = 1});
  const Compiled compiled = Compile(events, {.until_event = 50, .trim_at_event = 20}, 7);
  EXPECT_EQ(compiled.run.events(), 50u);
  EXPECT_EQ(compiled.totals.live_blocks, 50u);
  EXPECT_EQ(compiled.run.steps()[20].op, Op::kTrim);
  EXPECT_EQ(compiled.run.steps()[20].event, 20u);
}

TEST(PlanCompiler, SamplesHalveAndKeepTheirPlace) {
  std::vector<Event> events;
  const uint64_t count = 256 * 10000 + 77;
  for (uint64_t i = 1; i <= count; ++i) events.push_back({.address = 16 * i, .size = 1});
  const Compiled compiled = Compile(events, {}, 65536);
  const std::vector<uint64_t>& samples = compiled.run.samples();
  ASSERT_EQ(samples.size(), compiled.sample_requested.size());
  ASSERT_GE(samples.size(), kSampleCapacity / 2);
  ASSERT_LE(samples.size(), kSampleCapacity);
  for (size_t i = 0; i + 1 < samples.size(); ++i) {
    EXPECT_EQ(samples[i], i * 2048);
    EXPECT_EQ(compiled.sample_requested[i], samples[i]);
  }
  EXPECT_EQ(samples.back(), count);
}

TEST(PlanCompiler, SamplesStandAsCloseAsTheyCan) {
  for (const uint64_t count : {1u, 1000u, 2046u, 2047u, 100000u, 1000000u}) {
    std::vector<Event> events;
    for (uint64_t i = 1; i <= count; ++i) events.push_back({.address = 16 * i, .size = 1});
    PlanCompiler compiler({}, count);
    std::vector<uint64_t> words;
    compiler.Add(1, events, &words);
    compiler.Finish(&words);
    const size_t samples = compiler.samples().requested_bytes().size();
    EXPECT_LE(samples, kSampleCapacity) << count;
    if (count > kSampleCapacity) {
      EXPECT_GT(samples, kSampleCapacity / 2 - 1) << count;
    } else {
      EXPECT_GE(samples, std::min<uint64_t>(count, kSampleCapacity / 2)) << count;
    }
    for (const uint64_t word : words) EXPECT_NE(OpOf(word), Op::kHalve) << count;
  }
}

TEST(PlanCompiler, SamplesOfAFileThatLiesAboutItsLength) {
  for (const uint64_t expected : {uint64_t{1}, ~uint64_t{0}}) {
    std::vector<Event> events;
    for (uint64_t i = 1; i <= 100000; ++i) events.push_back({.address = 16 * i, .size = 1});
    PlanCompiler compiler({}, expected);
    std::vector<uint64_t> words;
    compiler.Add(1, events, &words);
    compiler.Finish(&words);
    EXPECT_GE(compiler.samples().requested_bytes().size(), 2u) << expected;
    EXPECT_LE(compiler.samples().requested_bytes().size(), kSampleCapacity) << expected;
  }
}

TEST(PlanCompiler, SkipsCoalesce) {
  std::vector<Event> events(1000, Event{.kind = EventKind::kThreadStart});
  const Compiled compiled = Compile(events);
  EXPECT_EQ(compiled.run.events(), 1000u);
  EXPECT_LE(compiled.words.size(), 12u);  // four samples cut the run
}

}  // namespace
}  // namespace heaptape
