// What the engine adds to the allocator's own time.
//
//   bazel run -c opt //replayer/driver:replay_benchmark
//
// The same calls in a bare loop, and replayed with no touching: random sizes up
// to 1 KiB, ten thousand blocks live, each call to malloc after a free of a random
// block.

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <vector>

#include "replayer/driver/event_source.h"
#include "replayer/driver/replayer.h"

namespace heaptape {
namespace {

constexpr int kCalls = 20'000'000;
constexpr uint64_t kBlocks = 10000;

class Random {
 public:
  uint64_t Next() {
    state_ ^= state_ << 13;
    state_ ^= state_ >> 7;
    state_ ^= state_ << 17;
    return state_;
  }

 private:
  uint64_t state_ = 88172645463325252;
};

double BareSeconds() {
  static void* live[kBlocks];
  Random random;
  const auto start = std::chrono::steady_clock::now();
  for (int i = 0; i < kCalls / 2; ++i) {
    const uint64_t dice = random.Next();
    void*& block = live[dice % kBlocks];
    std::free(block);
    block = std::malloc(16 + (dice >> 20) % 1008);
  }
  const std::chrono::duration<double> seconds = std::chrono::steady_clock::now() - start;
  for (void* block : live) std::free(block);
  return seconds.count();
}

std::vector<Event> Events(uint32_t threads) {
  std::vector<Event> events(kCalls);
  std::vector<uint64_t> live(kBlocks);
  Random random;
  uint64_t next = 16;
  for (int i = 0; i < kCalls; i += 2) {
    const uint64_t dice = random.Next();
    uint64_t& block = live[dice % kBlocks];
    const uint32_t thread = (dice >> 40) % threads;
    events[i] = {.address = block, .thread = thread, .kind = EventKind::kFree};
    // Addresses as they are: aligned, in no order, used again.
    if (block == 0) block = next += 1024;
    events[i + 1] = {.address = block, .size = 16 + (dice >> 20) % 1008, .thread = thread};
  }
  return events;
}

void Report(const char* what, double seconds) {
  std::printf("%-34s %6.2f ns a call %6.1f M calls/s\n", what, seconds / kCalls * 1e9,
              kCalls / seconds * 1e-6);
}

int Main() {
  Report("bare loop", BareSeconds());
  for (uint32_t threads : {1u, 8u}) {
    auto replayer = Replayer::Create(EventsInMemory(Header(), Events(threads)));
    if (!replayer.ok()) return 1;
    for (int run = 0; run < 3; ++run) {
      const auto result = (*replayer)->Run({});
      if (!result.ok()) {
        std::fprintf(stderr, "%s\n", result.status().ToString().c_str());
        return 1;
      }
      std::printf("%u threads, %s plan\n", threads, run == 0 ? "fresh" : "kept");
      Report("  in instructions", result->allocator_seconds);
      Report("  taking samples", result->sample_seconds);
      Report("  waiting for the plan", result->wait_seconds);
      Report("  all told", result->replay_seconds);
    }
  }
  return 0;
}

}  // namespace
}  // namespace heaptape

int main() { return heaptape::Main(); }
