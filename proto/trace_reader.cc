#include "proto/trace_reader.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <utility>

#include "absl/memory/memory.h"
#include "absl/strings/str_cat.h"

namespace heaptape {
namespace {

// A century of a busy machine. Numbers stay far from where they would wrap.
constexpr uint64_t kMaxEventNumber = uint64_t{1} << 60;

}  // namespace

TraceReader::TraceReader(int fd, const std::string& path, uint64_t file_bytes)
    : fd_(fd), path_(path), file_bytes_(file_bytes), frames_(fd, path) {}

TraceReader::~TraceReader() { close(fd_); }

absl::StatusOr<std::unique_ptr<TraceReader>> TraceReader::Open(const std::string& path) {
  const int fd = open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (fd < 0) return absl::ErrnoToStatus(errno, absl::StrCat(path, ": cannot open the trace"));
  struct stat info;
  if (fstat(fd, &info) != 0 || S_ISDIR(info.st_mode)) {
    close(fd);
    return absl::InvalidArgumentError(absl::StrCat(path, ": is not a heaptape trace but a directory"));
  }
  auto reader = absl::WrapUnique(new TraceReader(fd, path, static_cast<uint64_t>(info.st_size)));
  if (absl::Status status = reader->ReadHeader(); !status.ok()) return status;
  return reader;
}

absl::Status TraceReader::ReadHeader() {
  if (file_bytes_ == 0) {
    return absl::InvalidArgumentError(absl::StrCat(path_, ": is empty: nothing was recorded into it"));
  }
  absl::StatusOr<std::vector<PackedRecord>> records = frames_.Next();
  if (!records.ok()) return records.status();
  if (records->empty()) {
    return absl::InvalidArgumentError(
        absl::StrCat(path_, ": is not a heaptape trace: no whole zstd frame in its ", file_bytes_, " bytes"));
  }
  if (!frames_.problems().empty()) {
    return absl::DataLossError(absl::StrCat(path_, ": the header, at offset 0, is damaged"));
  }
  if (!records->front().has_header()) {
    return absl::InvalidArgumentError(
        absl::StrCat(path_, ": is not a heaptape trace: the zstd frame at offset 0 holds no header"));
  }
  header_ = records->front().header();
  if (header_.version() > kCompactTraceVersion) {
    return absl::InvalidArgumentError(absl::StrCat(path_, ": has format version ", header_.version(),
                                                   ", this heaptape reads up to ", kCompactTraceVersion,
                                                   ": use a newer heaptape"));
  }
  for (size_t i = 1; i < records->size(); ++i) pending_.push_back(std::move((*records)[i]));
  return absl::OkStatus();
}

uint64_t TraceReader::EventsAhead() const {
  const std::vector<PackedRecord> records = frames_.Last(file_bytes_);
  return records.empty() || !records.back().has_footer() ? 0 : records.back().footer().events();
}

absl::Status TraceReader::SkipTo(uint64_t offset, uint64_t last_event) {
  pending_.clear();
  health_.last_event = last_event;
  return frames_.SeekTo(offset);
}

absl::StatusOr<bool> TraceReader::Next(std::vector<Event>* events) {
  while (!ended_) {
    if (pending_.empty()) {
      absl::StatusOr<std::vector<PackedRecord>> records = frames_.Next();
      if (!records.ok()) return records.status();
      if (records->empty()) break;
      for (PackedRecord& record : *records) pending_.push_back(std::move(record));
    }
    const PackedRecord record = std::move(pending_.front());
    pending_.pop_front();
    switch (record.record_case()) {
      case PackedRecord::kEvents: {
        const PackedEventBatch& batch = record.events();
        const absl::Status status =
            batch.layout() == 0 ? decoder_.Decode(batch, events) : compact_decoder_.Decode(batch, events);
        if (!status.ok()) {
          health_.problems.push_back(
              absl::StrCat(path_, ": frame before offset ", frames_.offset(), ": ", status.message()));
          continue;
        }
        if (events->empty()) continue;
        if (batch.first_event() > kMaxEventNumber) {
          health_.problems.push_back(absl::StrCat(path_, ": frame before offset ", frames_.offset(),
                                                  " claims to begin at event ", batch.first_event()));
          continue;
        }
        const uint64_t expected = health_.last_event + 1;
        if (batch.first_event() < expected) {
          health_.problems.push_back(absl::StrCat(path_, ": frame before offset ", frames_.offset(),
                                                  " repeats events from ", batch.first_event(), " and was left out"));
          continue;
        }
        if (batch.first_event() > expected) {
          health_.lost_events += batch.first_event() - expected;
          health_.problems.push_back(
              absl::StrCat(path_, ": events ", expected, " to ", batch.first_event() - 1, " are lost"));
        }
        first_event_ = batch.first_event();
        batch_time_ns_ = batch.time_ns();
        health_.last_event = first_event_ + events->size() - 1;
        drained_.assign(batch.drained().begin(), batch.drained().end());
        return true;
      }
      case PackedRecord::kMemory:
        memory_samples_.push_back(record.memory());
        break;
      case PackedRecord::kFooter:
        footer_ = record.footer();
        have_footer_ = true;
        break;
      case PackedRecord::kHeader:
        health_.problems.push_back(absl::StrCat(path_, ": a second header before offset ", frames_.offset()));
        break;
      case PackedRecord::RECORD_NOT_SET:
        // A kind of record that a later minor version added; it is not events.
        break;
    }
  }
  if (!ended_) NoteEnd();
  events->clear();
  return false;
}

void TraceReader::NoteEnd() {
  ended_ = true;
  for (const std::string& problem : frames_.problems()) health_.problems.push_back(problem);
  if (!have_footer_) {
    health_.problems.push_back(
        absl::StrCat(path_, ": was not closed; complete up to event ", health_.last_event));
    return;
  }
  if (footer_.events() > health_.last_event) {
    health_.lost_events += footer_.events() - health_.last_event;
    health_.problems.push_back(
        absl::StrCat(path_, ": events ", health_.last_event + 1, " to ", footer_.events(), " are lost"));
  }
  health_.lost_events += footer_.lost_events();
  health_.complete = health_.problems.empty() && health_.lost_events == 0;
}

}  // namespace heaptape
