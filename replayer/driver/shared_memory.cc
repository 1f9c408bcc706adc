#include "replayer/driver/shared_memory.h"

#include <sys/mman.h>
#include <unistd.h>

#include <cerrno>
#include <utility>

#include "absl/strings/str_cat.h"

namespace heaptape {

absl::StatusOr<SharedMemory> SharedMemory::Create(const char* name, size_t bytes,
                                                  size_t mapped_bytes) {
  const int fd = memfd_create(name, MFD_CLOEXEC);
  if (fd < 0) return absl::ErrnoToStatus(errno, absl::StrCat("memory file ", name));
  if (ftruncate(fd, static_cast<off_t>(bytes)) != 0) {
    const int error = errno;
    close(fd);
    return absl::ErrnoToStatus(error, absl::StrCat("memory file ", name));
  }
  void* data =
      mmap(nullptr, mapped_bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_NORESERVE, fd, 0);
  if (data == MAP_FAILED) {
    const int error = errno;
    close(fd);
    return absl::ErrnoToStatus(error, absl::StrCat("mapping memory file ", name));
  }
  return SharedMemory(fd, static_cast<char*>(data), mapped_bytes);
}

absl::Status SharedMemory::Remap(size_t mapped_bytes) {
  void* data = mremap(data_, bytes_, mapped_bytes, MREMAP_MAYMOVE);
  if (data == MAP_FAILED) return absl::ErrnoToStatus(errno, "mapping more of a memory file");
  data_ = static_cast<char*>(data);
  bytes_ = mapped_bytes;
  return absl::OkStatus();
}

SharedMemory::SharedMemory(SharedMemory&& other) noexcept
    : fd_(std::exchange(other.fd_, -1)),
      data_(std::exchange(other.data_, nullptr)),
      bytes_(std::exchange(other.bytes_, 0)) {}

SharedMemory& SharedMemory::operator=(SharedMemory&& other) noexcept {
  std::swap(fd_, other.fd_);
  std::swap(data_, other.data_);
  std::swap(bytes_, other.bytes_);
  return *this;
}

SharedMemory::~SharedMemory() {
  if (data_ != nullptr) munmap(data_, bytes_);
  if (fd_ >= 0) close(fd_);
}

}  // namespace heaptape
