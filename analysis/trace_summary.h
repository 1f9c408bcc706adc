// TraceSummary: what a trace holds and how whole it is, from one pass over it.
//
// Mainland. Memory does not grow with the trace.

#ifndef HEAPTAPE_ANALYSIS_TRACE_SUMMARY_H_
#define HEAPTAPE_ANALYSIS_TRACE_SUMMARY_H_

#include <array>
#include <cstdint>
#include <string>

#include "absl/status/statusor.h"
#include "proto/event.h"
#include "proto/trace.pb.h"
#include "proto/trace_reader.h"

namespace heaptape {

struct TraceSummary {
  std::string path;
  Header header;
  Footer footer;            // empty if the trace was not closed
  TraceHealth health;
  uint64_t events = 0;      // that could be read
  uint64_t threads = 0;
  std::array<uint64_t, kEventKinds> events_of_kind = {};
  uint64_t duration_ns = 0;  // from the first to the last time in the file; 0 if it has none
  uint64_t file_bytes = 0;
  uint64_t memory_samples = 0;
  uint64_t peak_resident_bytes = 0;  // of the memory samples; 0 if there is none
};

// Reads `reader` to its end. An error is that of reading the file; damage is
// told in `health`.
absl::StatusOr<TraceSummary> Summarize(const std::string& path, TraceReader* reader);

}  // namespace heaptape

#endif  // HEAPTAPE_ANALYSIS_TRACE_SUMMARY_H_
