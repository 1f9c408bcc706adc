// TraceReader: events out of a .heaptape file, batch by batch.
//
// Mainland. One thread at a time. Memory is one frame and one batch, whatever
// the file's length. The reader believes no byte: a frame whose checksum or
// contents are wrong is left out and its event range counted as lost; a file
// that ends in the middle of a frame yields everything before that frame.

#ifndef HEAPTAPE_PROTO_TRACE_READER_H_
#define HEAPTAPE_PROTO_TRACE_READER_H_

#include <cstdint>
#include <deque>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "proto/batch_codec.h"
#include "proto/compact_codec.h"
#include "proto/event.h"
#include "proto/frame.h"
#include "proto/packed_record.pb.h"
#include "proto/trace.pb.h"

namespace heaptape {

// The versions of the format that this build writes, and, the greater of them, the
// newest it reads.
inline constexpr uint32_t kTraceVersion = 1;
inline constexpr uint32_t kCompactTraceVersion = 2;

// What is known to be wrong with the part of a trace that has been read.
struct TraceHealth {
  bool complete = false;              // a footer was read and nothing is missing
  uint64_t last_event = 0;            // number of the last event delivered
  uint64_t lost_events = 0;           // dropped by the recorder, or in unreadable frames
  std::vector<std::string> problems;  // one line each: file, what, at which offset
};

class TraceReader {
 public:
  // Opens `path` and reads its header. NotFound or PermissionDenied when it
  // cannot be opened, InvalidArgument when it is not a heaptape file or of a
  // newer version, DataLoss when its first frame is damaged.
  static absl::StatusOr<std::unique_ptr<TraceReader>> Open(const std::string& path);

  ~TraceReader();
  TraceReader(const TraceReader&) = delete;
  TraceReader& operator=(const TraceReader&) = delete;

  const Header& header() const { return header_; }

  // Replaces *events by the next batch, never empty. False at the end, whether
  // clean or torn. The first of them is number first_event(), and they count up
  // by one; a jump from one batch to the next is a loss that health() tells of.
  // Damage is never an error here; only a failing read(2) is.
  absl::StatusOr<bool> Next(std::vector<Event>* events);
  uint64_t first_event() const { return first_event_; }
  // When the batch was written (CLOCK_MONOTONIC), 0 if not known.
  uint64_t batch_time_ns() const { return batch_time_ns_; }

  // Goes on at `offset`, a whole_bytes() of an earlier reader of this file, when
  // its last event had number `last_event`.
  absl::Status SkipTo(uint64_t offset, uint64_t last_event);

  // Of what has been read so far; final once Next returned false.
  const TraceHealth& health() const { return health_; }
  const Footer& footer() const { return footer_; }
  // Number of the last event as a footer at the end of the file has it, which need not
  // have been read to; 0 if there is none, and wrong if the file is.
  uint64_t EventsAhead() const;
  // Whether a footer has been read: the recording was finished.
  bool closed() const { return have_footer_; }
  const std::vector<MemorySample>& memory_samples() const { return memory_samples_; }
  // For whoever goes on with an unfinished recording.
  const std::vector<SegmentPosition>& drained() const { return drained_; }
  // Offset behind the last frame that could be read.
  uint64_t whole_bytes() const { return frames_.whole_bytes(); }
  // How far reading has got, and the file's size.
  uint64_t bytes_read() const { return frames_.offset(); }
  uint64_t file_bytes() const { return file_bytes_; }

 private:
  TraceReader(int fd, const std::string& path, uint64_t file_bytes);

  absl::Status ReadHeader();
  void NoteEnd();

  const int fd_;
  const std::string path_;
  const uint64_t file_bytes_;
  FrameReader frames_;
  std::deque<PackedRecord> pending_;
  BatchDecoder decoder_;
  CompactDecoder compact_decoder_;
  Header header_;
  Footer footer_;
  bool have_footer_ = false;
  bool ended_ = false;
  std::vector<MemorySample> memory_samples_;
  std::vector<SegmentPosition> drained_;
  uint64_t first_event_ = 0;
  uint64_t batch_time_ns_ = 0;
  TraceHealth health_;
};

}  // namespace heaptape

#endif  // HEAPTAPE_PROTO_TRACE_READER_H_
