#include "proto/text_lines.h"

#include <archive.h>
#include <archive_entry.h>
#include <errno.h>
#include <unistd.h>

#include <utility>

#include "absl/memory/memory.h"
#include "absl/strings/str_cat.h"

namespace heaptape {
namespace {

constexpr size_t kBlockBytes = 256 << 10;

std::string ReasonOf(archive* archive) {
  const char* reason = archive_error_string(archive);
  return reason != nullptr ? reason : "unknown error";
}

}  // namespace

TextLines::TextLines(archive* archive, const std::string& path) : archive_(archive), path_(path) {}

TextLines::~TextLines() { archive_read_free(archive_); }

absl::StatusOr<std::unique_ptr<TextLines>> TextLines::Open(const std::string& path) {
  // libarchive's own message does not tell these apart.
  if (access(path.c_str(), R_OK) != 0) return absl::ErrnoToStatus(errno, absl::StrCat(path, ": cannot open"));
  archive* const archive = archive_read_new();
  auto lines = absl::WrapUnique(new TextLines(archive, path));
  archive_read_support_filter_all(archive);
  archive_read_support_format_zip(archive);
  archive_read_support_format_tar(archive);
  // Anything else, and an empty file, is text.
  archive_read_support_format_empty(archive);
  archive_read_support_format_raw(archive);
  if (archive_read_open_filename(archive, path.c_str(), kBlockBytes) != ARCHIVE_OK) {
    return absl::InvalidArgumentError(absl::StrCat(path, ": cannot read: ", ReasonOf(archive)));
  }
  archive_entry* entry = nullptr;
  int result;
  do {
    result = archive_read_next_header(archive, &entry);
  } while (result == ARCHIVE_OK && archive_entry_filetype(entry) == AE_IFDIR);
  if (result == ARCHIVE_EOF) {
    lines->end_of_file_ = true;
  } else if (result != ARCHIVE_OK && result != ARCHIVE_WARN) {
    return absl::InvalidArgumentError(absl::StrCat(path, ": cannot read: ", ReasonOf(archive)));
  }
  return lines;
}

std::string TextLines::Located(absl::string_view what) const {
  return absl::StrCat(path_, ":", line_number_, ": ", what);
}

absl::Status TextLines::Fill() {
  buffer_.erase(0, begin_);
  begin_ = 0;
  const size_t size = buffer_.size();
  if (size > kMaxLineBytes) {
    ++line_number_;
    return absl::InvalidArgumentError(Located("a line of more than 1 MiB: this is no text"));
  }
  buffer_.resize(size + kBlockBytes);
  const la_ssize_t n = archive_read_data(archive_, buffer_.data() + size, kBlockBytes);
  buffer_.resize(size + static_cast<size_t>(n > 0 ? n : 0));
  if (n < 0) {
    return absl::DataLossError(absl::StrCat(path_, ": damaged after line ", line_number_, ": ", ReasonOf(archive_)));
  }
  if (n > 0) return absl::OkStatus();
  archive_entry* entry = nullptr;
  if (archive_read_next_header(archive_, &entry) == ARCHIVE_OK) {
    return absl::InvalidArgumentError(
        absl::StrCat(path_, ": holds several files; extract the one that is meant, \"", archive_entry_pathname(entry),
                     "\" is the second"));
  }
  end_of_file_ = true;
  return absl::OkStatus();
}

absl::StatusOr<bool> TextLines::Next(std::string_view* line) {
  size_t searched = begin_;
  size_t end;
  while ((end = buffer_.find('\n', searched)) == std::string::npos) {
    if (end_of_file_) {
      if (begin_ == buffer_.size()) return false;
      end = buffer_.size();  // the last line has no end
      break;
    }
    searched = buffer_.size() - begin_;
    if (absl::Status status = Fill(); !status.ok()) return status;
  }
  *line = std::string_view(buffer_).substr(begin_, end - begin_);
  if (!line->empty() && line->back() == '\r') line->remove_suffix(1);
  begin_ = end < buffer_.size() ? end + 1 : end;
  ++line_number_;
  return true;
}

}  // namespace heaptape
