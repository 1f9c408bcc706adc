#include "recorder/collector/collector.h"

#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "recorder/collector/clock.h"
#include "recorder/collector/proc_text.h"
#include "recorder/wire/session.h"

namespace heaptape {
namespace {

constexpr uint64_t kScanNs = 10'000'000;
constexpr uint64_t kSampleNs = 100'000'000;
constexpr long kLongestNapUs = 4000;

// A program has room as long as a round finds less than this part of its buffer.
constexpr uint64_t kRoom = 8;
// A round that took so much longer than its work was held up by others, who are then
// given the most of what we would take, for a while.
constexpr uint64_t kHeldUpNs = 1'000'000;
constexpr uint64_t kContendedNs = 200'000'000;
constexpr uint64_t kOthersShare = 8;
constexpr uint64_t kLongestStandNs = 20'000'000;

wire::SessionConfig ConfigOf(const std::string& session) {
  wire::SessionConfig config;
  const std::string text = ReadText(session + "/config");
  if (text.size() == sizeof config) memcpy(&config, text.data(), sizeof config);
  return config;
}

}  // namespace

Collector::Collector(std::string session, std::string pattern)
    : session_(std::move(session)), pattern_(std::move(pattern)), buffer_bytes_(ConfigOf(session_).buffer_bytes) {}

void Collector::FindImages() {
  for (const std::string& directory : ListImages(session_)) OpenImage(directory);
}

LiveHeap* Collector::HeapOf(const std::string& name) {
  const std::string directory = session_ + "/" + name;
  OpenImage(directory);
  const auto recording = recordings_.find(directory);
  // The fork was logged before there was a child, so it is there by now.
  if (recording != recordings_.end()) recording->second->Sync();
  const auto heap = heaps_.find(name);
  return heap == heaps_.end() ? nullptr : heap->second.get();
}

void Collector::OpenImage(const std::string& directory) {
  const std::string name = Image::NameOf(directory);
  if (heaps_.count(name) != 0 || failed_.count(directory) != 0) return;
  absl::StatusOr<std::unique_ptr<Recording>> recording = Recording::Open(
      directory, pattern_, [this](const std::string& parent) { return HeapOf(parent); });
  if (recording.ok()) {
    (*recording)->set_buffer_bytes(buffer_bytes_);
    heaps_.emplace(name, std::make_unique<LiveHeap>((*recording)->summary().trace));
    recordings_.emplace(directory, *std::move(recording));
  } else if (!absl::IsNotFound(recording.status())) {
    failed_.insert(directory);
    RecordingSummary summary;
    summary.problem = std::string(recording.status().message());
    summaries_.push_back(std::move(summary));
  }
}

void Collector::Step(int child) {
  const uint64_t now = MonotonicNs();
  const bool scan = now >= next_scan_ns_;
  if (scan) {
    next_scan_ns_ = now + kScanNs;
    FindImages();
  }
  const bool sample = now >= next_sample_ns_;
  if (sample) next_sample_ns_ = now + kSampleNs;

  const uint64_t cpu = ThreadCpuNs();
  uint64_t words = 0;  // of the image with most
  std::vector<std::string> ended;
  for (auto& [directory, recording] : recordings_) {
    __atomic_fetch_add(&recording->image()->control()->heartbeat, 1, __ATOMIC_RELAXED);
    const uint64_t taken = recording->Drain();
    words = std::max(words, taken);
    if (sample) recording->SampleMemory();
    if (taken == 0 && scan && Ended(directory, child)) ended.push_back(directory);
  }
  for (const std::string& directory : ended) FinishOne(directory, -1);

  if (words > 0) {
    nap_us_ = 0;
    StandBack(MonotonicNs() - now, ThreadCpuNs() - cpu, words);
  } else {
    nap_us_ = std::min(kLongestNapUs, nap_us_ * 2 + 100);
    usleep(static_cast<useconds_t>(nap_us_));
  }
}

void Collector::StandBack(uint64_t wall_ns, uint64_t cpu_ns, uint64_t words) {
  const uint64_t now = MonotonicNs();
  if (wall_ns > cpu_ns + cpu_ns / 2 + kHeldUpNs) contended_until_ns_ = now + kContendedNs;
  if (now > contended_until_ns_ || words * sizeof(uint64_t) > buffer_bytes_ / kRoom) return;
  usleep(static_cast<useconds_t>(std::min(kOthersShare * cpu_ns, kLongestStandNs) / 1000));
}

void Collector::Sync() {
  for (auto& [directory, recording] : recordings_) recording->Sync();
}

bool Collector::Ended(const std::string& directory, int child) const {
  // An exec ends an image too: a later one of the same process tells.
  const size_t dot = directory.rfind('.') + 1;
  const auto number = [dot](const std::string& name) {
    uint64_t number = 0;
    return absl::SimpleAtoi(name.substr(dot), &number) ? number : 0;
  };
  const std::string stem = directory.substr(0, dot);
  for (auto it = recordings_.lower_bound(stem); it != recordings_.end() && absl::StartsWith(it->first, stem); ++it) {
    if (number(it->first) > number(directory)) return true;
  }
  const Image& image = *recordings_.at(directory)->image();
  return image.pid() != child && !image.ProcessExists();
}

void Collector::FinishOne(const std::string& directory, int wait_status) {
  const auto it = recordings_.find(directory);
  it->second->Finish(wait_status);
  summaries_.push_back(it->second->summary());
  recordings_.erase(it);
}

void Collector::Finish(int pid, int wait_status) {
  FindImages();
  std::vector<std::string> ended;
  std::string last;
  for (const auto& [directory, recording] : recordings_) {
    if (!Ended(directory, 0)) continue;
    ended.push_back(directory);
    if (recording->image()->pid() == pid) last = directory;
  }
  for (const std::string& directory : ended) FinishOne(directory, directory == last ? wait_status : -1);
}

}  // namespace heaptape
