#include "proto/trace_writer.h"

#include <errno.h>
#include <fcntl.h>
#include <unistd.h>

#include <utility>

#include "absl/memory/memory.h"
#include "absl/strings/str_cat.h"

namespace heaptape {
namespace {

absl::Status Named(const absl::Status& status, const std::string& path) {
  if (status.ok()) return status;
  return absl::Status(status.code(), absl::StrCat(path, ": ", status.message()));
}

}  // namespace

TraceWriter::TraceWriter(int fd, const std::string& path, int level) : fd_(fd), path_(path), frames_(fd, level) {
  events_.reserve(kMaxBatchEvents);
}

TraceWriter::~TraceWriter() { close(fd_); }

absl::StatusOr<std::unique_ptr<TraceWriter>> TraceWriter::Create(const std::string& path, const Header& header,
                                                                 int level) {
  const int fd = open(path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
  if (fd < 0) return absl::ErrnoToStatus(errno, absl::StrCat(path, ": cannot create the trace"));
  auto writer = absl::WrapUnique(new TraceWriter(fd, path, level));
  PackedRecord record;
  *record.mutable_header() = header;
  writer->frames_.Add(record);
  if (absl::Status status = writer->frames_.Flush(); !status.ok()) {
    unlink(path.c_str());  // it holds nothing, and would be in the way of the next one
    return Named(status, path);
  }
  return writer;
}

absl::StatusOr<std::unique_ptr<TraceWriter>> TraceWriter::Resume(const std::string& path, uint64_t offset,
                                                                 uint64_t events) {
  const int fd = open(path.c_str(), O_WRONLY | O_NOFOLLOW | O_CLOEXEC);
  if (fd < 0) return absl::ErrnoToStatus(errno, absl::StrCat(path, ": cannot open the trace"));
  if (ftruncate(fd, static_cast<off_t>(offset)) != 0 || lseek(fd, static_cast<off_t>(offset), SEEK_SET) < 0) {
    const int error = errno;
    close(fd);
    return absl::ErrnoToStatus(error, absl::StrCat(path, ": cannot go on at offset ", offset));
  }
  auto writer = absl::WrapUnique(new TraceWriter(fd, path, kDefaultLevel));
  writer->flushed_events_ = events;
  return writer;
}

absl::Status TraceWriter::AddMemorySample(const MemorySample& sample) {
  PackedRecord record;
  *record.mutable_memory() = sample;
  frames_.Add(record);
  return absl::OkStatus();
}

absl::Status TraceWriter::Flush(const std::vector<SegmentPosition>& drained) {
  const uint64_t events = events_.size();
  if (events > 0) {
    PackedEventBatch* batch = record_.mutable_events();
    encoder_.Encode(events_, batch);
    batch->set_first_event(flushed_events_ + 1);
    batch->set_time_ns(time_ns_);
    batch->mutable_drained()->Assign(drained.begin(), drained.end());
    frames_.Add(record_);
    events_.clear();
  }
  const absl::Status status = frames_.Flush();
  if (status.ok()) flushed_events_ += events;
  return Named(status, path_);
}

absl::Status TraceWriter::Close(Footer footer) {
  if (absl::Status status = Flush(); !status.ok()) return status;
  footer.set_events(flushed_events_);
  PackedRecord record;
  *record.mutable_footer() = std::move(footer);
  frames_.Add(record);
  return Named(frames_.Flush(), path_);
}

}  // namespace heaptape
