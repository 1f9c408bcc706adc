#include "recorder/collector/image.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <system_error>
#include <utility>

#include "absl/memory/memory.h"
#include "absl/strings/str_cat.h"
#include "recorder/collector/proc_text.h"

namespace heaptape {
namespace {

// Maps the first `bytes` of a file, or null if it is not such a file. Its open
// descriptor goes to *kept, if that is not null and the file was mapped.
void* MapFile(const std::string& path, uint64_t bytes, int* kept = nullptr) {
  const int fd = open(path.c_str(), O_RDWR | O_NOFOLLOW | O_CLOEXEC);
  if (fd < 0) return nullptr;
  struct stat info;
  void* mapped = MAP_FAILED;
  if (fstat(fd, &info) == 0 && S_ISREG(info.st_mode) && static_cast<uint64_t>(info.st_size) >= bytes) {
    mapped = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
  }
  if (mapped == MAP_FAILED || kept == nullptr) {
    close(fd);
  } else {
    *kept = fd;
  }
  return mapped == MAP_FAILED ? nullptr : mapped;
}

}  // namespace

uint64_t ProcessStartTime(int pid) {
  const std::vector<std::string> fields = StatFields(ReadText(absl::StrCat("/proc/", pid, "/stat")));
  // The first is the state; a zombie has ended for our purposes.
  if (fields.empty() || fields[0] == "Z" || fields[0] == "X") return 0;
  return NumberAt(fields, 19);
}

absl::StatusOr<std::unique_ptr<Image>> Image::Open(const std::string& directory) {
  int fd = -1;
  void* const mapped = MapFile(directory + "/control", wire::kControlBytes, &fd);
  if (mapped == nullptr) return absl::NotFoundError(absl::StrCat(directory, ": no control file yet"));
  auto* const control = static_cast<wire::Control*>(mapped);
  const bool set_up = __atomic_load_n(&control->magic, __ATOMIC_ACQUIRE) == wire::kControlMagic;
  if (!set_up || flock(fd, LOCK_EX | LOCK_NB) != 0) {
    munmap(mapped, wire::kControlBytes);
    close(fd);
    if (!set_up) return absl::NotFoundError(absl::StrCat(directory, ": is not set up yet"));
    return absl::FailedPreconditionError(absl::StrCat(directory, ": another collector is at work on it"));
  }
  return absl::WrapUnique(new Image(directory, fd, control));
}

Image::Image(std::string directory, int lock_fd, wire::Control* control)
    : directory_(std::move(directory)),
      lock_fd_(lock_fd),
      control_(control),
      pid_(control->pid),
      start_time_ticks_(control->start_time_ticks) {
  Refresh();
}

Image::~Image() {
  for (uint32_t i = 0; i < spools_.size(); ++i) {
    if (spools_[i] != nullptr) munmap(spools_[i], wire::SpoolBytes(i));
  }
  munmap(control_, wire::kControlBytes);
  close(lock_fd_);
}

void Image::Refresh() {
  const uint32_t count = std::min(__atomic_load_n(&control_->spool_count, __ATOMIC_ACQUIRE), wire::kMaxSpools);
  for (uint32_t i = 0; i < count; ++i) {
    if (i < spools_.size() && spools_[i] != nullptr) continue;
    if (i >= spools_.size()) spools_.push_back(nullptr);
    spools_[i] = static_cast<wire::Spool*>(MapFile(absl::StrCat(directory_, "/spool.", i), wire::SpoolBytes(i)));
  }
}

bool Image::ProcessExists() const { return pid_ > 0 && ProcessStartTime(pid_) == start_time_ticks_; }

void Image::Remove() {
  std::error_code ignored;
  std::filesystem::remove_all(directory_, ignored);
}

std::vector<std::string> ListImages(const std::string& session) {
  std::vector<std::string> images;
  std::error_code error;
  for (std::filesystem::directory_iterator it(session, error), end; !error && it != end; it.increment(error)) {
    if (it->is_directory(error) && !it->is_symlink(error)) images.push_back(it->path().string());
  }
  std::sort(images.begin(), images.end());
  return images;
}

}  // namespace heaptape
