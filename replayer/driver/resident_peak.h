// ResidentPeak: the most that a replay held in memory, here and in its engine.
//
// Mainland, for tests and benchmarks alone. What both have mapped counts in both.

#ifndef HEAPTAPE_REPLAYER_DRIVER_RESIDENT_PEAK_H_
#define HEAPTAPE_REPLAYER_DRIVER_RESIDENT_PEAK_H_

#include <algorithm>
#include <cstdint>
#include <fstream>
#include <string>

namespace heaptape {

class ResidentPeak {
 public:
  // Begins anew: what was resident before does not count.
  ResidentPeak() { std::ofstream("/proc/self/clear_refs") << 5; }

  // To be called now and then while the replay runs. (What the kernel keeps of a child
  // when it is gone is no use: a child begins with its parent's peak.)
  void LookAtEngine() {
    std::ifstream children("/proc/thread-self/children");
    for (std::string pid; children >> pid;) {
      engine_bytes_ = std::max(engine_bytes_, PeakOf(pid));
    }
  }

  uint64_t driver_bytes() const { return PeakOf("self"); }
  uint64_t engine_bytes() const { return engine_bytes_; }

 private:
  static uint64_t PeakOf(const std::string& process) {
    std::ifstream status("/proc/" + process + "/status");
    for (std::string word; status >> word;) {
      uint64_t kib;
      if (word == "VmHWM:" && status >> kib) return kib * 1024;
    }
    return 0;
  }

  uint64_t engine_bytes_ = 0;
};

}  // namespace heaptape

#endif  // HEAPTAPE_REPLAYER_DRIVER_RESIDENT_PEAK_H_
