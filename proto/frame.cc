#include "proto/frame.h"

#include <errno.h>
#include <google/protobuf/io/coded_stream.h>
#include <google/protobuf/io/zero_copy_stream_impl_lite.h>
#include <google/protobuf/util/delimited_message_util.h>
#include <string.h>
#include <unistd.h>
#include <zstd_errors.h>

#include <algorithm>
#include <string_view>
#include <utility>

#include "absl/strings/str_cat.h"

namespace heaptape {
namespace {

constexpr size_t kReadBytes = 1 << 20;
constexpr uint64_t kLastFrameBytes = 4096;
constexpr std::string_view kMagic("\x28\xB5\x2F\xFD", 4);

}  // namespace

// ---------------------------------------------------------------------------
// FrameWriter

FrameWriter::FrameWriter(int fd, int level) : fd_(fd), context_(ZSTD_createCCtx(), ZSTD_freeCCtx) {
  offset_ = static_cast<uint64_t>(std::max<off_t>(0, lseek(fd, 0, SEEK_CUR)));
  ZSTD_CCtx_setParameter(context_.get(), ZSTD_c_compressionLevel, level);
  ZSTD_CCtx_setParameter(context_.get(), ZSTD_c_checksumFlag, 1);
  ZSTD_CCtx_setParameter(context_.get(), ZSTD_c_contentSizeFlag, 1);
}

FrameWriter::~FrameWriter() = default;

void FrameWriter::Add(const PackedRecord& record) {
  google::protobuf::io::StringOutputStream stream(&content_);
  google::protobuf::util::SerializeDelimitedToZeroCopyStream(record, &stream);
}

absl::Status FrameWriter::Flush() {
  if (content_.empty()) return absl::OkStatus();
  compressed_.resize(ZSTD_compressBound(content_.size()));
  const size_t size = ZSTD_compress2(context_.get(), compressed_.data(), compressed_.size(), content_.data(),
                                     content_.size());
  content_.clear();
  if (ZSTD_isError(size)) return absl::InternalError(absl::StrCat("zstd: ", ZSTD_getErrorName(size)));
  size_t done = 0;
  while (done < size) {
    const ssize_t n = write(fd_, compressed_.data() + done, size - done);
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) {
      const int error = n < 0 ? errno : ENOSPC;
      // Leave whole frames only; a reader would cope, but why make it.
      if (ftruncate(fd_, static_cast<off_t>(offset_)) == 0) lseek(fd_, static_cast<off_t>(offset_), SEEK_SET);
      return absl::ErrnoToStatus(error, absl::StrCat("cannot write the trace at offset ", offset_));
    }
    done += static_cast<size_t>(n);
  }
  offset_ += size;
  return absl::OkStatus();
}

// ---------------------------------------------------------------------------
// FrameReader

FrameReader::FrameReader(int fd, std::string name)
    : fd_(fd), name_(std::move(name)), context_(ZSTD_createDCtx(), ZSTD_freeDCtx) {}

FrameReader::~FrameReader() = default;

absl::Status FrameReader::Fill() {
  buffer_.erase(0, begin_);
  begin_ = 0;
  const size_t size = buffer_.size();
  buffer_.resize(size + kReadBytes);
  ssize_t n;
  do {
    n = read(fd_, buffer_.data() + size, kReadBytes);
  } while (n < 0 && errno == EINTR);
  buffer_.resize(size + static_cast<size_t>(std::max<ssize_t>(n, 0)));
  if (n < 0) return absl::ErrnoToStatus(errno, absl::StrCat(name_, ": cannot read at offset ", offset_ + size));
  if (n == 0) end_of_file_ = true;
  return absl::OkStatus();
}

std::vector<PackedRecord> FrameReader::Last(uint64_t file_bytes) const {
  FrameReader tail(fd_, name_);
  tail.buffer_.resize(std::min(file_bytes, kLastFrameBytes));
  const auto from = static_cast<off_t>(file_bytes - tail.buffer_.size());
  const ssize_t n = pread(fd_, tail.buffer_.data(), tail.buffer_.size(), from);
  if (n != static_cast<ssize_t>(tail.buffer_.size())) return {};
  // The magic number may occur inside a frame as well.
  std::vector<PackedRecord> records;
  for (size_t at = tail.buffer_.rfind(kMagic); at != std::string::npos && at > 0; at = tail.buffer_.rfind(kMagic, at - 1)) {
    tail.begin_ = at;
    if (tail.TryFrame(&records) == Parse::kFrame && tail.begin_ == tail.buffer_.size()) return records;
  }
  return {};
}

absl::Status FrameReader::SeekTo(uint64_t offset) {
  if (lseek(fd_, static_cast<off_t>(offset), SEEK_SET) < 0) {
    return absl::ErrnoToStatus(errno, absl::StrCat(name_, ": cannot go to offset ", offset));
  }
  buffer_.clear();
  begin_ = 0;
  offset_ = whole_bytes_ = offset;
  end_of_file_ = false;
  return absl::OkStatus();
}

FrameReader::Parse FrameReader::TryFrame(std::vector<PackedRecord>* records) {
  const char* data = buffer_.data() + begin_;
  const size_t available = buffer_.size() - begin_;
  if (available < kMagic.size()) return Parse::kNeedMore;
  if (memcmp(data, kMagic.data(), kMagic.size()) != 0) return Parse::kBad;
  const unsigned long long content = ZSTD_getFrameContentSize(data, available);
  if (content == ZSTD_CONTENTSIZE_ERROR && available < 18) return Parse::kNeedMore;
  if (content > kMaxFrameContentBytes) return Parse::kBad;  // unknown and error are the largest values
  const size_t size = ZSTD_findFrameCompressedSize(data, available);
  if (ZSTD_isError(size)) {
    const bool could_grow = available < ZSTD_compressBound(kMaxFrameContentBytes);
    return ZSTD_getErrorCode(size) == ZSTD_error_srcSize_wrong && could_grow ? Parse::kNeedMore : Parse::kBad;
  }
  content_.resize(content);
  if (ZSTD_isError(ZSTD_decompressDCtx(context_.get(), content_.data(), content_.size(), data, size))) {
    return Parse::kBad;
  }
  records->clear();
  google::protobuf::io::ArrayInputStream stream(content_.data(), static_cast<int>(content_.size()));
  bool clean_end = false;
  PackedRecord record;
  while (google::protobuf::util::ParseDelimitedFromZeroCopyStream(&record, &stream, &clean_end)) {
    records->push_back(std::move(record));
    record.Clear();
  }
  if (!clean_end) return Parse::kBad;
  begin_ += size;
  offset_ += size;
  whole_bytes_ = offset_;
  return Parse::kFrame;
}

absl::StatusOr<std::vector<PackedRecord>> FrameReader::Next() {
  std::vector<PackedRecord> records;
  uint64_t skipped_from = offset_;
  const auto note_skipped = [&] {
    if (skipped_from == offset_) return;
    problems_.push_back(absl::StrCat(name_, ": ", offset_ - skipped_from, " unreadable bytes at offset ", skipped_from));
  };
  // A frame header that was damaged may ask for more than the file has; then
  // what follows it is searched for whole frames before the tail is given up.
  bool searching = false;
  while (true) {
    const Parse parse = TryFrame(&records);
    if (parse == Parse::kFrame) {
      if (records.empty()) {
        skipped_from = offset_;
        continue;
      }
      if (searching) {
        const uint64_t end = offset_;
        offset_ = frame_offset_;
        note_skipped();
        offset_ = end;
      }
      return records;
    }
    if (parse == Parse::kNeedMore && !end_of_file_) {
      if (absl::Status status = Fill(); !status.ok()) return status;
      continue;
    }
    if (begin_ == buffer_.size()) break;  // the end
    // Not a frame here. Look for the next place where one could begin.
    searching = true;
    while (true) {
      const size_t next = buffer_.find(kMagic, begin_ + 1);
      const size_t to = next != std::string::npos ? next
                        : end_of_file_            ? buffer_.size()
                                                  : std::max(begin_ + 1, buffer_.size() - (kMagic.size() - 1));
      offset_ += to - begin_;
      begin_ = to;
      if (next != std::string::npos || end_of_file_) break;
      if (absl::Status status = Fill(); !status.ok()) return status;
    }
    frame_offset_ = offset_;
  }
  if (skipped_from != offset_) {
    problems_.push_back(absl::StrCat(name_, ": ends inside a frame: the last ", offset_ - skipped_from,
                                     " bytes, from offset ", skipped_from, ", hold nothing whole"));
  }
  return std::vector<PackedRecord>();
}

}  // namespace heaptape
