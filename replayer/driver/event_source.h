// EventSource: where the events of a replay come from.
//
// Mainland. One thread at a time. A trace file, or events in memory (tests, and
// whoever makes up a trace to ask what would happen).

#ifndef HEAPTAPE_REPLAYER_DRIVER_EVENT_SOURCE_H_
#define HEAPTAPE_REPLAYER_DRIVER_EVENT_SOURCE_H_

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "proto/event.h"
#include "proto/trace.pb.h"
#include "proto/trace_reader.h"

namespace heaptape {

class EventSource {
 public:
  virtual ~EventSource() = default;

  virtual const Header& header() const = 0;
  // As in TraceReader.
  virtual absl::StatusOr<bool> Next(std::vector<Event>* events) = 0;
  virtual uint64_t first_event() const = 0;
  virtual const TraceHealth& health() const = 0;
  // How many there are in all, if that is known beforehand and true; 0: it is not known.
  virtual uint64_t EventsAhead() const = 0;
  // From 0 to 1.
  virtual double fraction_read() const = 0;
};

// Opens a source at its beginning; called again for each pass over the events,
// possibly from several threads.
using EventSourceFactory = std::function<absl::StatusOr<std::unique_ptr<EventSource>>()>;

// Opens the trace at `path`; errors are those of TraceReader::Open.
EventSourceFactory TraceFile(const std::string& path);

// A complete trace of `events`.
EventSourceFactory EventsInMemory(Header header, std::vector<Event> events);

}  // namespace heaptape

#endif  // HEAPTAPE_REPLAYER_DRIVER_EVENT_SOURCE_H_
