// FrameWriter, FrameReader: Records to and from zstd frames.
//
// A frame is an ordinary zstd frame with content size and checksum; decoded, it
// is a run of Records, each behind its length as a varint. Each frame stands
// alone, so damage costs the frames it touches and no others.
//
// Mainland. One thread at a time. Memory is one frame.

#ifndef HEAPTAPE_PROTO_FRAME_H_
#define HEAPTAPE_PROTO_FRAME_H_

#include <zstd.h>

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "proto/packed_record.pb.h"
#include "proto/trace.pb.h"

namespace heaptape {

// A frame that claims to hold more is damaged.
inline constexpr uint64_t kMaxFrameContentBytes = 64 << 20;

class FrameWriter {
 public:
  // Writes to `fd` at its current offset; does not own it. `level` is zstd's.
  FrameWriter(int fd, int level);
  ~FrameWriter();

  // Adds a record to the open frame.
  void Add(const PackedRecord& record);
  // Compresses and writes the open frame, if it holds anything. On an error
  // nothing of it stays in the file (as far as ftruncate can help that).
  absl::Status Flush();

  uint64_t bytes_written() const { return offset_; }

 private:
  const int fd_;
  uint64_t offset_;
  std::unique_ptr<ZSTD_CCtx, size_t (*)(ZSTD_CCtx*)> context_;
  std::string content_;
  std::string compressed_;
};

class FrameReader {
 public:
  // Reads from `fd` at its start; does not own it. `name` is for messages.
  FrameReader(int fd, std::string name);
  ~FrameReader();

  // The records of the next frame that is whole; empty at the end of the file.
  // Bytes that are no frame are skipped, with a line in problems(). Only a
  // failing read(2) is an error.
  absl::StatusOr<std::vector<PackedRecord>> Next();

  // The records of the frame at the end of a file of `file_bytes`, if it is a small one;
  // empty if there is none. Reading goes on where it was.
  std::vector<PackedRecord> Last(uint64_t file_bytes) const;

  // Goes on at `offset`, where a frame begins.
  absl::Status SeekTo(uint64_t offset);

  // How far reading has got; and the end of the last frame that Next returned.
  uint64_t offset() const { return offset_; }
  uint64_t whole_bytes() const { return whole_bytes_; }
  // One line for each stretch that had to be skipped.
  const std::vector<std::string>& problems() const { return problems_; }

 private:
  enum class Parse { kFrame, kNeedMore, kBad };

  absl::Status Fill();
  // Tries the bytes from `begin_`; on kFrame they are consumed.
  Parse TryFrame(std::vector<PackedRecord>* records);

  const int fd_;
  const std::string name_;
  std::unique_ptr<ZSTD_DCtx, size_t (*)(ZSTD_DCtx*)> context_;
  std::string buffer_;    // file contents from buffer_offset_ on
  size_t begin_ = 0;      // of the next frame, in buffer_
  uint64_t offset_ = 0;   // the same, in the file
  uint64_t whole_bytes_ = 0;
  uint64_t frame_offset_ = 0;  // where a search for the next frame has got to
  bool end_of_file_ = false;
  std::string content_;
  std::vector<std::string> problems_;
};

}  // namespace heaptape

#endif  // HEAPTAPE_PROTO_FRAME_H_
