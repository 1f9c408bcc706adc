// Any bytes whatever through TraceReader. It must neither crash nor hang, and
// what it delivers must keep the promises of its header.
//
// Written for libFuzzer; run_corpus.cc makes an ordinary test of it.

#include <sys/mman.h>
#include <unistd.h>

#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <vector>

#include "proto/trace_reader.h"

namespace heaptape {
namespace {

void Require(bool condition, const char* what) {
  if (condition) return;
  std::fprintf(stderr, "trace_reader_fuzz: %s\n", what);
  std::abort();
}

void ReadAll(const std::string& path) {
  auto reader = TraceReader::Open(path);
  if (!reader.ok()) {
    Require(reader.status().message().find('\n') == std::string::npos, "an error of more than one line");
    return;
  }
  std::vector<Event> events;
  uint64_t last = 0;
  uint64_t delivered = 0;
  while (true) {
    const absl::StatusOr<bool> more = (*reader)->Next(&events);
    Require(more.ok(), "bytes alone made read(2) fail");
    if (!*more) break;
    Require(!events.empty() && events.size() <= kMaxBatchEvents, "a batch of impossible size");
    Require((*reader)->first_event() > last, "events out of order");
    last = (*reader)->first_event() + events.size() - 1;
    Require(last >= (*reader)->first_event(), "event numbers that wrap");
    Require((*reader)->health().last_event == last, "the health is behind");
    delivered += events.size();
    for (const Event& event : events) {
      Require(static_cast<int>(event.kind) < kEventKinds, "an event of unknown kind");
      Require(event.alignment_log2 < 64, "an impossible alignment");
    }
  }
  (*reader)->EventsAhead();
  const TraceHealth& health = (*reader)->health();
  Require(!health.complete || (health.problems.empty() && delivered == last), "complete, with something missing");
  Require(health.complete || !health.problems.empty() || health.lost_events > 0, "incomplete, and nothing said");
  Require(delivered + health.lost_events >= last, "a loss that is not counted");
  Require(!*(*reader)->Next(&events) && events.empty(), "an end that is none");
}

}  // namespace
}  // namespace heaptape

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  static const int fd = memfd_create("trace_reader_fuzz", MFD_CLOEXEC);
  static const std::string path = "/proc/self/fd/" + std::to_string(fd);
  heaptape::Require(fd >= 0 && ftruncate(fd, 0) == 0, "no memory file");
  heaptape::Require(pwrite(fd, data, size, 0) == static_cast<ssize_t>(size), "a short write");
  heaptape::ReadAll(path);
  return 0;
}
