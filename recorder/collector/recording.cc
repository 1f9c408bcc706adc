#include "recorder/collector/recording.h"

#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <system_error>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/memory/memory.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "absl/strings/str_split.h"
#include "proto/trace_reader.h"
#include "recorder/collector/clock.h"
#include "recorder/collector/identity.h"
#include "recorder/collector/proc_text.h"

namespace heaptape {
namespace {

constexpr char kTraceFile[] = "trace";

// What is in segments only is safe too, but nobody can look at it yet.
constexpr uint64_t kFlushNs = 200'000'000;
// A call can be more than one event: its thread's start, a realloc's two halves.
constexpr uint32_t kRoom = 8;
// Finished segments are given back together: about two full batches.
constexpr uint32_t kFlushSegments = 16;

bool Exists(const std::string& path) {
  struct stat info;
  return lstat(path.c_str(), &info) == 0;
}

std::string EndText(int wait_status) {
  if (wait_status == -1) return "ended";
  if (WIFSIGNALED(wait_status)) return absl::StrCat("signal ", WTERMSIG(wait_status));
  return absl::StrCat("exit ", WEXITSTATUS(wait_status));
}

// Of the process that forked this one: its image's name is PID.STARTTIME.N.
uint64_t ParentStartTime(const wire::Control& control) {
  const std::vector<std::string> parts =
      absl::StrSplit(absl::string_view(control.parent, strnlen(control.parent, sizeof control.parent)), '.');
  uint64_t ticks = 0;
  return parts.size() == 3 && absl::SimpleAtoi(parts[1], &ticks) ? ticks : 0;
}

}  // namespace

std::string TracePath(const std::string& pattern, const std::string& program, int pid) {
  const std::string number = absl::StrCat(pid);
  const std::string path = absl::StrReplaceAll(pattern, {{"%%", "%"}, {"%e", program}, {"%p", number}});
  if (!Exists(path)) return path;
  const size_t dot = path.rfind(".heaptape");
  const std::string stem = path.substr(0, dot);
  const std::string ending = dot == std::string::npos ? "" : path.substr(dot);
  std::string named = absl::StrCat(stem, ".", program, ".", pid, ending);
  for (int n = 2; Exists(named); ++n) named = absl::StrCat(stem, ".", program, ".", pid, ".", n, ending);
  return named;
}

absl::StatusOr<std::unique_ptr<Recording>> Recording::Open(const std::string& directory, const std::string& pattern,
                                                           const Parents& parents) {
  absl::StatusOr<std::unique_ptr<Image>> image = Image::Open(directory);
  if (!image.ok()) return image.status();
  std::string trace;
  std::getline(std::ifstream(directory + "/" + kTraceFile), trace);
  if (!trace.empty()) return Resume(*std::move(image), trace);
  const wire::Control& control = *(*image)->control();
  const std::string parent(control.parent, strnlen(control.parent, sizeof control.parent));
  const bool forked = !parent.empty() && control.parent_fork != 0;
  return Create(*std::move(image), pattern, forked ? parents(parent) : nullptr);
}

absl::StatusOr<std::unique_ptr<Recording>> Recording::Create(std::unique_ptr<Image> image, const std::string& pattern,
                                                             LiveHeap* parent) {
  Header header = IdentityOf(image.get());
  std::vector<Event> inherited;
  if (parent != nullptr) {
    const absl::StatusOr<bool> found = parent->ReadToFork(image->control()->parent_fork);
    if (found.ok() && *found) inherited = parent->Allocations();
    header.mutable_fork()->set_parent_pid(header.parent_pid());
    header.mutable_fork()->set_parent_start_time_ticks(ParentStartTime(*image->control()));
    header.mutable_fork()->set_live_blocks(inherited.size());
  }
  while (true) {
    const std::string path = TracePath(pattern, header.program(), header.pid());
    absl::StatusOr<std::unique_ptr<TraceWriter>> writer = TraceWriter::Create(path, header);
    if (absl::IsAlreadyExists(writer.status())) continue;  // somebody was faster
    if (!writer.ok()) return writer.status();
    auto recording = absl::WrapUnique(new Recording(std::move(image), *std::move(writer), header.program()));
    if (parent != nullptr) recording->WriteInherited(inherited, parent->forking_thread());
    // From here on another collector can go on with it.
    std::error_code ignored;
    std::ofstream(recording->image_->directory() + "/" + kTraceFile)
        << std::filesystem::absolute(path, ignored).string() << "\n";
    return recording;
  }
}

absl::StatusOr<std::unique_ptr<Recording>> Recording::Resume(std::unique_ptr<Image> image, const std::string& path) {
  absl::StatusOr<std::unique_ptr<TraceReader>> reader = TraceReader::Open(path);
  if (!reader.ok()) return reader.status();
  uint32_t threads = 0;
  std::vector<Event> events;
  while (true) {
    const absl::StatusOr<bool> more = (*reader)->Next(&events);
    if (!more.ok()) return more.status();
    if (!*more) break;
    for (const Event& event : events) threads = std::max(threads, event.thread + 1);
  }
  if ((*reader)->closed()) {
    // Finished, but for the removal of its image.
    image->Remove();
    return absl::NotFoundError(absl::StrCat(path, ": is finished"));
  }
  absl::StatusOr<std::unique_ptr<TraceWriter>> writer =
      TraceWriter::Resume(path, (*reader)->whole_bytes(), (*reader)->health().last_event);
  if (!writer.ok()) return writer.status();
  auto recording =
      absl::WrapUnique(new Recording(std::move(image), *std::move(writer), (*reader)->header().program()));
  recording->merger_.Resume((*reader)->drained(), threads);
  if (recording->image_->control()->dropped_events > 0) {
    recording->status_ = absl::DataLossError(absl::StrCat(path, ": an earlier collector could not write all of it"));
  }
  return recording;
}

// The blocks that a forked child has from its parent, as calls of the threads
// that made them. Its own first thread is the one that forked.
void Recording::WriteInherited(const std::vector<Event>& allocations, uint32_t forking_thread) {
  absl::flat_hash_map<uint32_t, uint32_t> threads;
  std::vector<Event>* const pending = writer_->pending();
  const auto thread_of = [&](uint32_t thread) {
    const auto [it, inserted] = threads.try_emplace(thread, static_cast<uint32_t>(threads.size()));
    if (inserted) {
      Event start;
      start.kind = EventKind::kThreadStart;
      start.thread = it->second;
      pending->push_back(start);
    }
    return it->second;
  };
  const uint32_t own = thread_of(forking_thread);
  for (Event event : allocations) {
    event.thread = thread_of(event.thread);
    pending->push_back(event);
    if (pending->size() >= kMaxBatchEvents - kRoom) Flush();
  }
  Flush();
  merger_.SetThreads({{1, own}}, static_cast<uint32_t>(threads.size()));
}

Recording::Recording(std::unique_ptr<Image> image, std::unique_ptr<TraceWriter> writer, std::string program)
    : image_(std::move(image)),
      writer_(std::move(writer)),
      program_(std::move(program)),
      merger_(image_.get(), kMaxBatchEvents - kRoom, writer_->pending(), [this] { Flush(); }) {}

// Nothing is written behind what could not be, though there may be room again: a trace
// with a gap in it tells of blocks that were never freed, or of two at one address.
void Recording::Flush() {
  const uint64_t events = writer_->events();
  if (status_.ok()) {
    last_flush_ns_ = MonotonicNs();
    writer_->set_time_ns(last_flush_ns_);
    Note(writer_->Flush(merger_.Positions()));
  } else {
    writer_->pending()->clear();
  }
  image_->control()->dropped_events += events - writer_->events();
  // Here, since a round that is far behind takes long.
  image_->MakeSpoolAhead(buffer_bytes_);
}

void Recording::Note(const absl::Status& status) {
  if (status_.ok()) status_ = status;
}

uint64_t Recording::Drain() {
  const uint64_t words = merger_.Round(/*last=*/false);
  const uint32_t finished = merger_.finished_segments();
  if (finished >= kFlushSegments || (finished > 0 && words == 0) || MonotonicNs() - last_flush_ns_ > kFlushNs) {
    // Segments go back only when what was in them cannot be lost any more; or
    // when it is lost already, for the program must not wait for nothing.
    Flush();
    merger_.Recycle();
  }
  return words;
}

void Recording::Sync() {
  Drain();
  Flush();
}

void Recording::SampleMemory() {
  if (!status_.ok()) return;
  const std::string proc = absl::StrCat("/proc/", image_->pid());
  const std::string statm = ReadText(proc + "/statm");
  const std::vector<std::string> fields = StatFields(ReadText(proc + "/stat"));
  if (statm.empty() || fields.empty()) return;
  const std::vector<std::string> pages = absl::StrSplit(statm, ' ');
  const auto page = static_cast<uint64_t>(sysconf(_SC_PAGESIZE));
  MemorySample sample;
  sample.set_event(writer_->events());
  sample.set_time_ns(MonotonicNs());
  sample.set_resident_bytes(NumberAt(pages, 1) * page);
  sample.set_anonymous_bytes((NumberAt(pages, 1) - NumberAt(pages, 2)) * page);
  sample.set_minor_faults(NumberAt(fields, 7));
  sample.set_major_faults(NumberAt(fields, 9));
  // Asked each time: a process may be moved.
  const std::string group = MemoryCgroup(ReadText(proc + "/cgroup"));
  for (const char* file : {"/memory.current", "/memory.usage_in_bytes"}) {
    uint64_t bytes = 0;
    if (!group.empty() && absl::SimpleAtoi(ReadText(group + file), &bytes)) sample.set_cgroup_bytes(bytes);
  }
  Note(writer_->AddMemorySample(sample));
}

void Recording::Finish(int wait_status) {
  merger_.Round(/*last=*/true);
  Flush();
  const wire::Control& control = *image_->control();
  Footer footer;
  footer.set_lost_events(control.lost_calls + control.dropped_events);
  footer.set_words(merger_.words());
  footer.set_end(EndText(wait_status));
  footer.set_wait_status(wait_status);
  // Also after an error: there may be room for so much, and the file then says itself what
  // it lacks.
  const absl::Status closed = writer_->Close(footer);
  Note(closed);
  if (closed.ok()) image_->Remove();
}

RecordingSummary Recording::summary() const {
  RecordingSummary summary;
  summary.trace = writer_->path();
  summary.program = program_;
  summary.pid = image_->pid();
  summary.events = writer_->events();
  summary.bytes = writer_->bytes_written();
  const wire::Control& control = *image_->control();
  summary.lost_calls = control.lost_calls + control.dropped_events;
  summary.waits = control.waits;
  if (!status_.ok()) {
    summary.problem = std::string(status_.message());
  } else if (control.stop_reason == static_cast<uint32_t>(wire::StopReason::kNoSpace)) {
    summary.problem = absl::StrCat("no space left for ", image_->directory());
  } else if (control.stop_reason == static_cast<uint32_t>(wire::StopReason::kMaxSize)) {
    summary.problem = "the size limit was reached while no collector ran";
  }
  return summary;
}

}  // namespace heaptape
