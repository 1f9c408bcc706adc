// SharedMemory: a memory file, mapped for writing here and handed to a child.
//
// Mainland. Sparse: only pages that are written take memory. Movable, not
// copyable; closes and unmaps when destroyed.

#ifndef HEAPTAPE_REPLAYER_DRIVER_SHARED_MEMORY_H_
#define HEAPTAPE_REPLAYER_DRIVER_SHARED_MEMORY_H_

#include <cstddef>
#include <cstdint>

#include "absl/status/statusor.h"

namespace heaptape {

class SharedMemory {
 public:
  // ResourceExhausted if there is no memory or descriptor for it. Limits on address
  // space count what is mapped, so a sparse file need not be mapped whole at first.
  static absl::StatusOr<SharedMemory> Create(const char* name, size_t bytes) {
    return Create(name, bytes, bytes);
  }
  static absl::StatusOr<SharedMemory> Create(const char* name, size_t bytes, size_t mapped_bytes);

  // Maps so much of it from now on. data() moves.
  absl::Status Remap(size_t mapped_bytes);

  SharedMemory(SharedMemory&& other) noexcept;
  SharedMemory& operator=(SharedMemory&& other) noexcept;
  ~SharedMemory();

  int fd() const { return fd_; }
  char* data() const { return data_; }
  size_t bytes() const { return bytes_; }  // as far as mapped

 private:
  SharedMemory(int fd, char* data, size_t bytes) : fd_(fd), data_(data), bytes_(bytes) {}

  int fd_;
  char* data_;
  size_t bytes_;
};

}  // namespace heaptape

#endif  // HEAPTAPE_REPLAYER_DRIVER_SHARED_MEMORY_H_
