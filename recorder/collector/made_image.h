// An image whose words a test writes itself, instead of a program.
//
// Mainland, tests alone.

#ifndef HEAPTAPE_RECORDER_COLLECTOR_MADE_IMAGE_H_
#define HEAPTAPE_RECORDER_COLLECTOR_MADE_IMAGE_H_

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cstdint>
#include <string>
#include <utility>

#include "gtest/gtest.h"
#include "recorder/wire/call.h"
#include "recorder/wire/session.h"

namespace heaptape {

inline uint64_t Malloc(uint64_t address) { return wire::ShortCall(wire::Tag::kMalloc, address, 100); }
inline uint64_t Free(uint64_t address) { return wire::ShortCall(wire::Tag::kFree, address, 0); }
inline uint64_t Begin(uint64_t run) { return wire::LongWord(wire::Form::kRun, 0, run); }

class MadeImage {
 public:
  // In `directory`, which exists: one spool, in which no segment is taken.
  explicit MadeImage(std::string directory) : directory_(std::move(directory)) {
    control_ = static_cast<wire::Control*>(MakeFile("control", wire::kControlBytes));
    spool_ = static_cast<wire::Spool*>(MakeFile("spool.0", wire::SpoolBytes(0)));
    control_->spool_count = 1;
    control_->ticket = 1;
    control_->magic = wire::kControlMagic;
  }
  ~MadeImage() {
    munmap(spool_, wire::SpoolBytes(0));
    munmap(control_, wire::kControlBytes);
  }
  MadeImage(const MadeImage&) = delete;
  MadeImage& operator=(const MadeImage&) = delete;

  // Takes segment `index` for `thread`, as an interposer would.
  void Take(int index, uint32_t thread) {
    Segment(index)->thread = thread;
    Segment(index)->system_tid = thread + 1000;
    Segment(index)->order = next_order_++;
    spool_->segments[index].state = static_cast<uint32_t>(wire::SegmentState::kTaken);
    used_[index] = 0;
  }
  void Log(int index, uint64_t word) { Segment(index)->words[used_[index]++] = word; }
  // Leaves a word for a call that has been overtaken.
  void Leave(int index) { ++used_[index]; }
  void Fill(int index) {
    spool_->segments[index].limit = wire::kFirstWord + used_[index];
    spool_->segments[index].state = static_cast<uint32_t>(wire::SegmentState::kFull);
  }

  wire::Segment* Segment(int index) { return reinterpret_cast<wire::Segment*>(spool_) + 1 + index; }

 protected:
  const std::string directory_;
  wire::Control* control_;
  wire::Spool* spool_;

 private:
  void* MakeFile(const std::string& name, uint64_t bytes) {
    const int fd = open((directory_ + "/" + name).c_str(), O_RDWR | O_CREAT | O_EXCL, 0600);
    EXPECT_EQ(ftruncate(fd, static_cast<off_t>(bytes)), 0);
    void* const mapped = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    close(fd);
    return mapped;
  }

  uint64_t next_order_ = 1;
  uint32_t used_[wire::SpoolSegments(0)] = {};
};

}  // namespace heaptape

#endif  // HEAPTAPE_RECORDER_COLLECTOR_MADE_IMAGE_H_
