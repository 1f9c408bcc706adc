#include "proto/compact_writer.h"

#include <errno.h>
#include <fcntl.h>
#include <unistd.h>
#include <zstd.h>

#include <algorithm>
#include <utility>

#include "absl/memory/memory.h"
#include "absl/strings/str_cat.h"
#include "proto/batch_codec.h"
#include "proto/trace_reader.h"

namespace heaptape {
namespace {

constexpr int kLevel = 19;
constexpr int kTrialLevel = 3;
// A frame holds some two million events: 2 to 10 MB before compression.
constexpr size_t kFrameBatches = 32;

size_t CompressedBytes(const std::string& content) {
  std::string compressed(ZSTD_compressBound(content.size()), 0);
  const size_t size =
      ZSTD_compress(compressed.data(), compressed.size(), content.data(), content.size(), kTrialLevel);
  return ZSTD_isError(size) ? content.size() : size;
}

}  // namespace

CompactWriter::CompactWriter(int fd, const std::string& path) : fd_(fd), path_(path), frames_(fd, kLevel) {}

CompactWriter::~CompactWriter() { close(fd_); }

absl::StatusOr<std::unique_ptr<CompactWriter>> CompactWriter::Create(const std::string& path, Header header) {
  const int fd = open(path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
  if (fd < 0) return absl::ErrnoToStatus(errno, absl::StrCat(path, ": cannot create the trace"));
  auto writer = absl::WrapUnique(new CompactWriter(fd, path));
  header.set_version(kCompactTraceVersion);
  header.set_compacted(true);
  header.clear_wall_time_ns();
  for (MappedObject& object : *header.mutable_objects()) object.clear_base();
  PackedRecord record;
  *record.mutable_header() = std::move(header);
  writer->frames_.Add(record);
  if (absl::Status status = writer->frames_.Flush(); !status.ok()) return writer->Named(status);
  return writer;
}

absl::Status CompactWriter::Append(uint64_t first_event, absl::Span<const Event> events) {
  if (first_event != next_event_) {
    if (absl::Status status = EndBatch(); !status.ok()) return status;
    next_event_ = first_event;
  }
  while (!events.empty()) {
    const size_t count = std::min(events.size(), kMaxBatchEvents - events_.size());
    events_.insert(events_.end(), events.begin(), events.begin() + count);
    next_event_ += count;
    events.remove_prefix(count);
    if (events_.size() < kMaxBatchEvents) break;
    if (absl::Status status = EndBatch(); !status.ok()) return status;
  }
  return absl::OkStatus();
}

absl::Status CompactWriter::EndBatch() {
  if (events_.empty()) return absl::OkStatus();
  Batch& batch = batches_.emplace_back();
  batch.first_event = next_event_ - events_.size();
  batch.event_count = static_cast<uint32_t>(events_.size());
  encoder_.Encode(events_, &batch.streams);
  events_.clear();
  return batches_.size() < kFrameBatches ? absl::OkStatus() : WriteFrame();
}

absl::Status CompactWriter::WriteFrame() {
  std::string among, apart;
  for (const Batch& batch : batches_) among += batch.streams.calls_with_ranks;
  for (const Batch& batch : batches_) absl::StrAppend(&apart, batch.streams.calls, batch.streams.ranks);
  const bool is_apart = CompressedBytes(apart) < CompressedBytes(among);
  PackedRecord record;
  for (Batch& batch : batches_) {
    PackedEventBatch* events = record.mutable_events();
    events->set_first_event(batch.first_event);
    events->set_event_count(batch.event_count);
    events->set_layout(is_apart ? kRanksApart : kRanksAmongCalls);
    events->set_sequence(batches_written_++);
    events->set_calls(std::move(is_apart ? batch.streams.calls : batch.streams.calls_with_ranks));
    events->set_references(is_apart ? std::move(batch.streams.ranks) : std::string());
    frames_.Add(record);
  }
  batches_.clear();
  return Named(frames_.Flush());
}

absl::Status CompactWriter::Close(const Footer* footer) {
  if (absl::Status status = EndBatch(); !status.ok()) return status;
  if (absl::Status status = WriteFrame(); !status.ok()) return status;
  if (footer == nullptr) return absl::OkStatus();
  PackedRecord record;
  *record.mutable_footer() = *footer;
  frames_.Add(record);
  return Named(frames_.Flush());
}

absl::Status CompactWriter::Named(const absl::Status& status) const {
  if (status.ok()) return status;
  return absl::Status(status.code(), absl::StrCat(path_, ": ", status.message()));
}

}  // namespace heaptape
