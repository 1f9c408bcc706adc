#include "recorder/collector/image.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
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

// The first spool that is worth making ahead: a program that needs it makes many calls.
constexpr uint32_t kFirstAhead = 2;
// A disk that has not room for so many of them is left to the program and to the trace.
constexpr uint64_t kPlenty = 32;

// Makes `fd` a file of zeros whose space is set aside, as the program's own are (WriteZeros
// in interposer/spools.cc says why in such pieces).
bool FillWithZeros(int fd, uint64_t bytes) {
  static constexpr char kZeros[64 << 10] = {};
  struct statvfs disk;
  if (fstatvfs(fd, &disk) != 0 || disk.f_bavail * disk.f_frsize / bytes < kPlenty) return false;
  if (fallocate(fd, 0, 0, static_cast<off_t>(bytes)) != 0) return false;
  for (uint64_t done = 0; done < bytes; done += sizeof kZeros) {
    if (write(fd, kZeros, sizeof kZeros) != static_cast<ssize_t>(sizeof kZeros)) return false;
  }
  return true;
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

void Image::MakeSpoolAhead(uint64_t buffer_bytes) {
  const uint32_t next = __atomic_load_n(&control_->spool_count, __ATOMIC_RELAXED);
  if (next < std::max(kFirstAhead, made_ahead_) || next >= wire::kMaxSpools) return;
  uint64_t bytes = 0;
  for (uint32_t i = 0; i < next; ++i) bytes += wire::SpoolBytes(i);
  if (bytes >= buffer_bytes || !ProcessExists()) return;
  made_ahead_ = next + 1;
  // The program must be able to open it. We could give it away, and a hostile one would have
  // us do so in other directories than its own.
  struct stat control;
  if (fstat(lock_fd_, &control) != 0 || control.st_uid != geteuid()) return;
  // Under another name until it is whole; a collector that was killed may have left one.
  const std::string making = directory_ + "/making";
  unlink(making.c_str());
  const int fd = open(making.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
  if (fd < 0) return;
  const bool made = FillWithZeros(fd, wire::SpoolBytes(next));
  close(fd);
  const std::string path = absl::StrCat(directory_, "/spool.", next);
  if (!made || renameat2(AT_FDCWD, making.c_str(), AT_FDCWD, path.c_str(), RENAME_NOREPLACE) != 0) {
    unlink(making.c_str());
  }
}

bool Image::ProcessExists() const { return pid_ > 0 && ProcessStartTime(pid_) == start_time_ticks_; }

void Image::Remove() {
  namespace fs = std::filesystem;
  std::error_code ignored;
  if (!ProcessExists()) {
    fs::remove_all(directory_, ignored);
    // What stood for its earlier images.
    const std::string stem = directory_.substr(0, directory_.rfind('.') + 1);
    for (const auto& entry : fs::directory_iterator(fs::path(directory_).parent_path(), ignored)) {
      std::error_code not_empty;
      if (entry.path().string().compare(0, stem.size(), stem) == 0) fs::remove(entry.path(), not_empty);
    }
    return;
  }
  for (const auto& entry : fs::directory_iterator(directory_, ignored)) fs::remove_all(entry.path(), ignored);
}

std::vector<std::string> ListImages(const std::string& session) {
  std::vector<std::string> images;
  std::error_code error;
  for (std::filesystem::directory_iterator it(session, error), end; !error && it != end; it.increment(error)) {
    if (!it->is_directory(error) || it->is_symlink(error)) continue;
    if (std::filesystem::exists(it->path() / "control", error)) images.push_back(it->path().string());
  }
  std::sort(images.begin(), images.end());
  return images;
}

}  // namespace heaptape
