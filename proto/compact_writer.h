// CompactWriter: events into a trace that is small.
//
// Mainland. One thread at a time. Slow: it compresses as hard as zstd can, many
// batches a frame.

#ifndef HEAPTAPE_PROTO_COMPACT_WRITER_H_
#define HEAPTAPE_PROTO_COMPACT_WRITER_H_

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "proto/compact_codec.h"
#include "proto/event.h"
#include "proto/frame.h"
#include "proto/trace.pb.h"

namespace heaptape {

class CompactWriter {
 public:
  // Creates `path` for this user alone; AlreadyExists when there is such a file.
  // What the header says of addresses and times is left out.
  static absl::StatusOr<std::unique_ptr<CompactWriter>> Create(const std::string& path, Header header);

  ~CompactWriter();
  CompactWriter(const CompactWriter&) = delete;
  CompactWriter& operator=(const CompactWriter&) = delete;

  // Adds events, numbered from `first_event` on. They are put into batches anew.
  absl::Status Append(uint64_t first_event, absl::Span<const Event> events);
  // Writes the rest, and `footer` if the source had one.
  absl::Status Close(const Footer* footer);

  uint64_t bytes_written() const { return frames_.bytes_written(); }

 private:
  struct Batch {
    uint64_t first_event;
    uint32_t event_count;
    CompactEncoder::Streams streams;
  };

  CompactWriter(int fd, const std::string& path);

  absl::Status EndBatch();
  absl::Status WriteFrame();
  absl::Status Named(const absl::Status& status) const;

  const int fd_;
  const std::string path_;
  FrameWriter frames_;
  CompactEncoder encoder_;
  std::vector<Event> events_;  // of the open batch
  uint64_t next_event_ = 1;    // behind those
  std::vector<Batch> batches_;  // of the open frame
  uint64_t batches_written_ = 0;
};

}  // namespace heaptape

#endif  // HEAPTAPE_PROTO_COMPACT_WRITER_H_
