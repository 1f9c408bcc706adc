// AndroidTextParser: the lines that Android's malloc_debug records and its
// memory_replay reads, as Events. A line is one call:
//
//   THREAD: malloc ADDRESS SIZE
//   THREAD: calloc ADDRESS COUNT SIZE
//   THREAD: memalign ADDRESS ALIGNMENT SIZE
//   THREAD: realloc NEW_ADDRESS OLD_ADDRESS SIZE
//   THREAD: free ADDRESS
//   THREAD: thread_done 0x0
//
// and newer recorders append when it began and ended, in nanoseconds. Addresses
// are hexadecimal behind 0x, all else is decimal.
//
// Mainland. One thread at a time. Memory grows with the threads that are alive.

#ifndef HEAPTAPE_PROTO_ANDROID_TEXT_H_
#define HEAPTAPE_PROTO_ANDROID_TEXT_H_

#include <cstdint>
#include <string_view>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/status/status.h"
#include "proto/event.h"

namespace heaptape {

class AndroidTextParser {
 public:
  // Appends the event of `line` to *events, after a kThreadStart where it is the
  // first of its thread; nothing for a blank line. InvalidArgument, saying what
  // is wrong with the line, otherwise.
  absl::Status Parse(std::string_view line, std::vector<Event>* events);

  // Of the lines parsed so far. A thread id that comes back after its
  // thread_done is another thread.
  uint64_t calls() const { return calls_; }
  uint64_t thread_ends() const { return thread_ends_; }
  uint32_t threads() const { return threads_; }
  uint64_t greatest_address() const { return greatest_address_; }
  // When the last line's call ended; 0 if it does not say.
  uint64_t time_ns() const { return time_ns_; }

 private:
  absl::flat_hash_map<uint64_t, uint32_t> thread_of_;  // living threads, by recorded id
  uint64_t last_id_ = ~uint64_t{0};                    // a cache of one: runs are long
  uint32_t last_thread_ = 0;
  uint32_t threads_ = 0;
  uint64_t calls_ = 0;
  uint64_t thread_ends_ = 0;
  uint64_t greatest_address_ = 0;
  uint64_t time_ns_ = 0;
};

}  // namespace heaptape

#endif  // HEAPTAPE_PROTO_ANDROID_TEXT_H_
