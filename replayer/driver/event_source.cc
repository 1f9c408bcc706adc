#include "replayer/driver/event_source.h"

#include <algorithm>
#include <utility>

namespace heaptape {

namespace {

class TraceFileSource : public EventSource {
 public:
  explicit TraceFileSource(std::unique_ptr<TraceReader> reader) : reader_(std::move(reader)) {}

  const Header& header() const override { return reader_->header(); }
  absl::StatusOr<bool> Next(std::vector<Event>* events) override { return reader_->Next(events); }
  uint64_t first_event() const override { return reader_->first_event(); }
  const TraceHealth& health() const override { return reader_->health(); }
  uint64_t EventsAhead() const override { return reader_->EventsAhead(); }
  double fraction_read() const override {
    return static_cast<double>(reader_->bytes_read()) /
           std::max<uint64_t>(reader_->file_bytes(), 1);
  }

 private:
  const std::unique_ptr<TraceReader> reader_;
};

struct MemoryTrace {
  Header header;
  std::vector<Event> events;
};

class MemorySource : public EventSource {
 public:
  explicit MemorySource(std::shared_ptr<const MemoryTrace> trace) : trace_(std::move(trace)) {}

  const Header& header() const override { return trace_->header; }
  absl::StatusOr<bool> Next(std::vector<Event>* events) override {
    first_event_ = done_ + 1;
    const size_t count = std::min<size_t>(trace_->events.size() - done_, kBatch);
    const auto begin = trace_->events.begin() + done_;
    events->assign(begin, begin + count);
    done_ += count;
    health_.last_event = done_;
    health_.complete = done_ == trace_->events.size();
    return count > 0;
  }
  uint64_t first_event() const override { return first_event_; }
  const TraceHealth& health() const override { return health_; }
  uint64_t EventsAhead() const override { return trace_->events.size(); }
  double fraction_read() const override {
    return static_cast<double>(done_) / std::max<size_t>(trace_->events.size(), 1);
  }

 private:
  static constexpr size_t kBatch = 65536;

  const std::shared_ptr<const MemoryTrace> trace_;
  uint64_t first_event_ = 1;
  size_t done_ = 0;
  TraceHealth health_;
};

}  // namespace

EventSourceFactory TraceFile(const std::string& path) {
  return [path]() -> absl::StatusOr<std::unique_ptr<EventSource>> {
    absl::StatusOr<std::unique_ptr<TraceReader>> reader = TraceReader::Open(path);
    if (!reader.ok()) return reader.status();
    return std::make_unique<TraceFileSource>(*std::move(reader));
  };
}

EventSourceFactory EventsInMemory(Header header, std::vector<Event> events) {
  auto trace = std::make_shared<MemoryTrace>();
  trace->header = std::move(header);
  trace->events = std::move(events);
  return [trace]() -> absl::StatusOr<std::unique_ptr<EventSource>> {
    return std::make_unique<MemorySource>(trace);
  };
}

}  // namespace heaptape
