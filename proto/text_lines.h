// TextLines: the lines of a text file, or of a zip or a compressed copy of it.
//
// Mainland. One thread at a time. Memory is one block of the file, or one line
// if that is longer, whatever the file's length.

#ifndef HEAPTAPE_PROTO_TEXT_LINES_H_
#define HEAPTAPE_PROTO_TEXT_LINES_H_

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

struct archive;

namespace heaptape {

class TextLines {
 public:
  // A longer line is an error: the file is no text.
  static constexpr size_t kMaxLineBytes = 1 << 20;

  // Opens `path`: plain text, whatever libarchive decompresses (gzip, zstd, xz,
  // bzip2 ...), or an archive of one file. NotFound or PermissionDenied when it
  // cannot be opened, InvalidArgument when it is none of these.
  static absl::StatusOr<std::unique_ptr<TextLines>> Open(const std::string& path);

  ~TextLines();
  TextLines(const TextLines&) = delete;
  TextLines& operator=(const TextLines&) = delete;

  // The next line without its end ("\n" or "\r\n"), valid until the next call.
  // False at the end of the file. DataLoss when decompression fails.
  absl::StatusOr<bool> Next(std::string_view* line);

  // Number of the line that Next returned last, from 1.
  uint64_t line_number() const { return line_number_; }
  // "FILE:LINE: `what`", for messages about that line.
  std::string Located(absl::string_view what) const;

 private:
  TextLines(archive* archive, const std::string& path);

  // Appends more of the file to buffer_; sets end_of_file_ if there is none.
  absl::Status Fill();

  archive* const archive_;
  const std::string path_;
  std::string buffer_;
  size_t begin_ = 0;  // of what Next has not returned, in buffer_
  bool end_of_file_ = false;
  uint64_t line_number_ = 0;
};

}  // namespace heaptape

#endif  // HEAPTAPE_PROTO_TEXT_LINES_H_
