// Writes a trace in which everything occurs that a trace can hold, for tests of
// other readers: sample_trace OUT.

#include <cstdio>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "proto/event.h"
#include "proto/random_events.h"
#include "proto/trace_reader.h"
#include "proto/trace_writer.h"

namespace heaptape {
namespace {

std::vector<Event> Oddities() {
  constexpr uint64_t kTop = 0x7fff'ffff'fff0;
  return {
      {.size = 4711, .kind = EventKind::kThreadStart},
      {.address = 0, .size = ~uint64_t{0}},
      {.address = 0, .size = 12},
      {.address = 0, .size = uint64_t{1} << 59},
      {.address = 0, .size = (uint64_t{1} << 59) - 1, .kind = EventKind::kCalloc},
      {.address = 0x1010, .size = 100},
      {.address = 0x2020, .size = 1u << 30},
      {.address = 0x1010, .old_address = 0x1010, .size = 5000, .kind = EventKind::kRealloc},
      {.address = 0x1010, .old_address = 0x1010, .size = 5001, .kind = EventKind::kRealloc},
      {.address = 0, .old_address = 0x1010, .size = 300, .kind = EventKind::kRealloc},
      {.address = 0, .old_address = 0x1010, .size = uint64_t{1} << 62, .kind = EventKind::kRealloc},
      {.address = 0x4040, .size = 64, .kind = EventKind::kRealloc},
      {.size = 4712, .thread = 7, .kind = EventKind::kThreadStart},
      {.old_address = 0x4040, .thread = 7, .kind = EventKind::kReallocBegin},
      {.address = 0x5050, .size = 500, .thread = 7, .kind = EventKind::kReallocEnd},
      {.address = 0x8000, .size = 10, .thread = 7, .kind = EventKind::kMemalign, .alignment_log2 = 12},
      {.address = 0x9000, .size = 11, .thread = 7, .kind = EventKind::kAlignedAlloc, .alignment_log2 = 6},
      {.address = 0xa000, .size = 12, .thread = 7, .kind = EventKind::kPosixMemalign, .alignment_log2 = 8},
      {.address = 0xb000, .size = 13, .thread = 7, .kind = EventKind::kValloc, .alignment_log2 = 12},
      {.address = 0xc000, .size = 14, .thread = 7, .kind = EventKind::kPvalloc, .alignment_log2 = 12},
      {.address = 1, .old_address = 65536, .size = static_cast<uint64_t>(-3), .thread = 7, .kind = EventKind::kMallopt},
      {.address = 1, .size = 0, .thread = 7, .kind = EventKind::kMallocTrim},
      {.size = 1, .thread = 7, .kind = EventKind::kFork},
      {.address = 0x8000, .kind = EventKind::kFree},
      {.address = 0x77770, .kind = EventKind::kFree},
      {.address = 0, .kind = EventKind::kFree},
      {.address = kTop, .size = 1},
      {.address = kTop, .kind = EventKind::kFree},
      {.thread = 7, .kind = EventKind::kThreadEnd},
  };
}

absl::Status WriteSample(const char* path) {
  Header header;
  header.set_version(kTraceVersion);
  header.set_program("sample");
  auto writer = TraceWriter::Create(path, header);
  if (!writer.ok()) return writer.status();
  const auto write = [&writer](const std::vector<Event>& events) {
    for (const Event& event : events) {
      if (absl::Status status = (*writer)->Append(event); !status.ok()) return status;
    }
    return absl::OkStatus();
  };
  if (absl::Status status = write(Oddities()); !status.ok()) return status;
  if (absl::Status status = (*writer)->AddMemorySample(MemorySample()); !status.ok()) return status;
  for (uint32_t seed = 1; seed <= 6; ++seed) {
    RandomEventsOptions options;
    options.seed = seed;
    options.count = 30000;
    options.threads = 1 + seed % 4;
    options.live_target = seed % 2 == 0 ? 20 : 3000;
    options.max_size = seed % 3 == 0 ? 100 : 200000;
    if (absl::Status status = write(RandomEvents(options)); !status.ok()) return status;
    if (seed % 3 != 0) continue;  // some batches end early
    if (absl::Status status = (*writer)->Flush(); !status.ok()) return status;
  }
  return (*writer)->Close(Footer());
}

}  // namespace
}  // namespace heaptape

int main(int argc, char** argv) {
  if (argc != 2) {
    std::fprintf(stderr, "usage: sample_trace OUT\n");
    return 2;
  }
  const absl::Status status = heaptape::WriteSample(argv[1]);
  if (!status.ok()) std::fprintf(stderr, "sample_trace: %s\n", std::string(status.message()).c_str());
  return status.ok() ? 0 : 1;
}
