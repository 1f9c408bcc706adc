// Recording: one program image becomes one trace.
//
// Mainland. One thread at a time.

#ifndef HEAPTAPE_RECORDER_COLLECTOR_RECORDING_H_
#define HEAPTAPE_RECORDER_COLLECTOR_RECORDING_H_

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "proto/trace_writer.h"
#include "recorder/collector/image.h"
#include "recorder/collector/live_heap.h"
#include "recorder/collector/merger.h"

namespace heaptape {

// What became of an image, for the summary.
struct RecordingSummary {
  std::string trace;         // path; empty: none could be made
  std::string program;
  int pid = 0;
  uint64_t events = 0;
  uint64_t bytes = 0;        // of the trace
  uint64_t lost_calls = 0;
  uint64_t waits = 0;        // times a thread waited for the collector
  std::string problem;       // why recording ended early; empty: it did not
};

// Where a trace goes: `pattern` with %e as program, %p as pid and %% as %. If
// that exists already, ".PROGRAM.PID" and then ".2", ".3" ... go in front of the
// ending, so that two programs never share a file and none is overwritten.
std::string TracePath(const std::string& pattern, const std::string& program, int pid);

class Recording {
 public:
  // Opens the image in `directory` and its trace: a new one, or the one that an
  // earlier collector did not finish. `parents` finds the live heap of a parent
  // image by its name, or null; it is asked for if the image is a forked child's.
  // Errors: those of Image::Open, and of making the trace.
  using Parents = std::function<LiveHeap*(const std::string& name)>;
  static absl::StatusOr<std::unique_ptr<Recording>> Open(const std::string& directory, const std::string& pattern,
                                                         const Parents& parents);

  // Makes spools ahead for the program, as Image says; else it makes them all itself.
  void set_buffer_bytes(uint64_t bytes) { buffer_bytes_ = bytes; }
  // Moves what the program has logged into the trace; the number of words taken.
  // After an error (no space left, say) the recording only drains, so that the
  // program never waits; summary() says why.
  uint64_t Drain();
  // Writes all that has come so far, so that others can read it.
  void Sync();
  // Reads the process's memory figures from /proc into the trace.
  void SampleMemory();
  // The program is gone: takes the rest, closes the trace, removes the image.
  // `wait_status` as from wait(2), or -1 if not known.
  void Finish(int wait_status);

  Image* image() { return image_.get(); }
  RecordingSummary summary() const;

 private:
  Recording(std::unique_ptr<Image> image, std::unique_ptr<TraceWriter> writer, std::string program);

  static absl::StatusOr<std::unique_ptr<Recording>> Create(std::unique_ptr<Image> image, const std::string& pattern,
                                                           LiveHeap* parent);
  static absl::StatusOr<std::unique_ptr<Recording>> Resume(std::unique_ptr<Image> image, const std::string& path);
  void WriteInherited(const std::vector<Event>& allocations, uint32_t forking_thread);
  void Flush();
  void Note(const absl::Status& status);

  const std::unique_ptr<Image> image_;
  const std::unique_ptr<TraceWriter> writer_;
  const std::string program_;
  Merger merger_;
  absl::Status status_;
  uint64_t last_flush_ns_ = 0;
  uint64_t buffer_bytes_ = 0;
};

}  // namespace heaptape

#endif  // HEAPTAPE_RECORDER_COLLECTOR_RECORDING_H_
