// Image: the collector's view of one program image's files in a session.
//
// Mainland. The program on the other side may be broken or hostile: every value
// is copied before it is checked, sizes of files are verified before they are
// mapped, and symbolic links are refused.

#ifndef HEAPTAPE_RECORDER_COLLECTOR_IMAGE_H_
#define HEAPTAPE_RECORDER_COLLECTOR_IMAGE_H_

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "recorder/wire/session.h"

namespace heaptape {

class Image {
 public:
  // NotFound while the program has not finished setting it up, FailedPrecondition
  // when another collector is at work on it. Nobody else can open it meanwhile.
  static absl::StatusOr<std::unique_ptr<Image>> Open(const std::string& directory);

  ~Image();
  Image(const Image&) = delete;
  Image& operator=(const Image&) = delete;

  // Maps spools that have been added since.
  void Refresh();
  // Makes the file of the spool that the program will want next, so that it need not make
  // pages itself; once for each, up to `buffer_bytes` of them. Not for a program that makes
  // few calls, nor for one that has ended or is another user's, nor on a disk that is filling
  // up. Should it fail, or the program be faster, the program makes its own.
  void MakeSpoolAhead(uint64_t buffer_bytes);

  // Null where a spool is not there (yet).
  uint32_t spool_count() const { return static_cast<uint32_t>(spools_.size()); }
  wire::Spool* spool(uint32_t spool) { return spools_[spool]; }
  wire::Segment* segment(uint32_t spool, uint32_t index) {
    return reinterpret_cast<wire::Segment*>(spools_[spool]) + 1 + index;
  }
  wire::Control* control() { return control_; }

  const std::string& directory() const { return directory_; }
  // The last part of a directory: what a child calls its parent.
  static std::string NameOf(const std::string& directory) { return directory.substr(directory.rfind('/') + 1); }
  int pid() const { return pid_; }
  uint64_t start_time_ticks() const { return start_time_ticks_; }

  // Whether the process that this image was made in still exists.
  bool ProcessExists() const;
  // Removes the files. The mappings stay usable. The directory stays, empty, as long as the
  // process lives: it has become another program, whose image must not get the same name.
  void Remove();

 private:
  Image(std::string directory, int lock_fd, wire::Control* control);

  const std::string directory_;
  const int lock_fd_;  // of the control file; its lock ends with this process
  wire::Control* const control_;
  const int pid_;
  const uint64_t start_time_ticks_;
  std::vector<wire::Spool*> spools_;
  uint32_t made_ahead_ = 0;  // spools below this number have been made, or tried
};

// Names of the image directories in a session that have something in them, sorted.
std::vector<std::string> ListImages(const std::string& session);

// Start time of a process in clock ticks since boot, 0 if there is none.
uint64_t ProcessStartTime(int pid);

}  // namespace heaptape

#endif  // HEAPTAPE_RECORDER_COLLECTOR_IMAGE_H_
