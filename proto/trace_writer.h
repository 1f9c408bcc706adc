// TraceWriter: events into a .heaptape file.
//
// Mainland. One thread at a time. Events are buffered until a batch is full or
// Flush is called; what Flush has accepted survives the death of this process.

#ifndef HEAPTAPE_PROTO_TRACE_WRITER_H_
#define HEAPTAPE_PROTO_TRACE_WRITER_H_

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "proto/batch_codec.h"
#include "proto/event.h"
#include "proto/frame.h"
#include "proto/packed_record.pb.h"
#include "proto/trace.pb.h"

namespace heaptape {

class TraceWriter {
 public:
  // While recording, speed decides; files are made smaller later if at all.
  static constexpr int kDefaultLevel = 1;

  // Creates `path` for this user alone and writes the header. AlreadyExists
  // when there is such a file: a trace is never overwritten.
  static absl::StatusOr<std::unique_ptr<TraceWriter>> Create(const std::string& path, const Header& header,
                                                             int level = kDefaultLevel);
  // Goes on with a trace that was not closed, behind its last whole frame at
  // `offset`; `events` are in it.
  static absl::StatusOr<std::unique_ptr<TraceWriter>> Resume(const std::string& path, uint64_t offset,
                                                             uint64_t events);

  ~TraceWriter();
  TraceWriter(const TraceWriter&) = delete;
  TraceWriter& operator=(const TraceWriter&) = delete;

  // Adds one event; a full batch is written first. An error (no space left, say)
  // is that of the full batch; the file stays readable up to the batch before.
  absl::Status Append(const Event& event) {
    if (events_.size() >= kMaxBatchEvents) {
      if (absl::Status status = Flush(); !status.ok()) return status;
    }
    events_.push_back(event);
    return absl::OkStatus();
  }
  // The events that the next Flush writes. Whoever adds to it keeps to
  // kMaxBatchEvents.
  std::vector<Event>* pending() { return &events_; }
  absl::Status AddMemorySample(const MemorySample& sample);
  // Writes what is buffered; after an error it is gone, and events() is less.
  // `drained`: see EventBatch.
  absl::Status Flush(const std::vector<SegmentPosition>& drained = {});
  // Flushes and writes the footer, whose number of events is filled in.
  absl::Status Close(Footer footer);

  // Time of the batches written from now on (CLOCK_MONOTONIC).
  void set_time_ns(uint64_t time_ns) { time_ns_ = time_ns; }

  uint64_t events() const { return flushed_events_ + events_.size(); }
  uint64_t bytes_written() const { return frames_.bytes_written(); }
  const std::string& path() const { return path_; }

 private:
  TraceWriter(int fd, const std::string& path, int level);

  const int fd_;
  const std::string path_;
  FrameWriter frames_;
  BatchEncoder encoder_;
  PackedRecord record_;  // reused, so that its columns keep their memory
  std::vector<Event> events_;
  uint64_t flushed_events_ = 0;
  uint64_t time_ns_ = 0;
};

}  // namespace heaptape

#endif  // HEAPTAPE_PROTO_TRACE_WRITER_H_
