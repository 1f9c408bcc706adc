// Collector: drains every program image of a session into traces.
//
// Mainland. One thread at a time. While it is stepped, the programs see its
// heartbeat, and wait for it rather than grow.

#ifndef HEAPTAPE_RECORDER_COLLECTOR_COLLECTOR_H_
#define HEAPTAPE_RECORDER_COLLECTOR_COLLECTOR_H_

#include <cstdint>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "recorder/collector/recording.h"

namespace heaptape {

class Collector {
 public:
  // Of the session in directory `session`; `pattern` as for TracePath.
  Collector(std::string session, std::string pattern);

  // One round over all images, and a nap when there was nothing to do. Images
  // whose process has ended are finished, except that of `child`, which the
  // caller waits for itself (0: there is none).
  void Step(int child);

  // Has the next step look for new images, whenever the last one did.
  void ScanNow() { next_scan_ns_ = 0; }

  // `pid` has ended with `wait_status`: finishes its images, and those of other
  // processes that have ended.
  void Finish(int pid, int wait_status);

  // Images whose process still runs.
  size_t running() const { return recordings_.size(); }
  // Writes what has come so far, for a collector that is about to leave.
  void Sync();
  // Of the images that are finished, in the order of their ends.
  const std::vector<RecordingSummary>& summaries() const { return summaries_; }

 private:
  void FindImages();
  // Does nothing if it has been tried.
  void OpenImage(const std::string& directory);
  // Of an image, opened if need be; null if there is none.
  LiveHeap* HeapOf(const std::string& name);
  // Whether the process behind an image has ended or become another image.
  bool Ended(const std::string& directory, int child) const;
  void FinishOne(const std::string& directory, int wait_status);
  // Leaves the processor to others for a while if they want it and the programs have
  // room to go on logging. A round took so long, and found so much in one image.
  void StandBack(uint64_t wall_ns, uint64_t cpu_ns, uint64_t words);

  const std::string session_;
  const std::string pattern_;
  const uint64_t buffer_bytes_;  // of each image
  std::map<std::string, std::unique_ptr<Recording>> recordings_;  // by directory
  std::set<std::string> failed_;                                  // directories that no trace could be made for
  std::map<std::string, std::unique_ptr<LiveHeap>> heaps_;        // of images that were ever open, by name
  std::vector<RecordingSummary> summaries_;
  uint64_t next_scan_ns_ = 0;
  uint64_t next_sample_ns_ = 0;
  long nap_us_ = 0;
  uint64_t contended_until_ns_ = 0;  // others are taken to want the processors until then
};

}  // namespace heaptape

#endif  // HEAPTAPE_RECORDER_COLLECTOR_COLLECTOR_H_
