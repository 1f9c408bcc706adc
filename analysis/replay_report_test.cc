// The reports on a replay, from a literal result.

#include <string>

#include "analysis/replay_heap.h"
#include "analysis/replay_json.h"
#include "analysis/replay_text.h"
#include "gtest/gtest.h"

namespace heaptape {
namespace {

// A heap of 0x21000 bytes in which a tcache and one block are.
ReplayResult Example() {
  ReplayResult result;
  result.header.set_program("toy");
  result.health.complete = true;
  result.health.last_event = 1000;
  result.plan.events = 1000;
  result.plan.threads = 2;
  result.plan.orphan_frees = 3;
  result.settings.tunables = {{"glibc.malloc.mmap_threshold", "65536"}};
  result.settings.arena_limit = 64;
  result.settings.allocator = "glibc";
  result.settings.is_glibc = true;
  result.settings.glibc_version = "2.36";
  result.settings.aslr_disabled = true;
  result.settings.syscalls_seen = true;
  result.settings.notes = {"the trace was recorded under glibc 2.31"};
  result.events_done = 1000;
  result.digest = 0xabc;
  result.live_blocks = 1;
  result.requested_bytes = 1000;
  result.usable_bytes = 1016;
  result.system_bytes = 0x21000;
  result.resident_bytes = 4096;
  result.peak_requested = {5000, 10};
  result.peak_usable = {5008, 11};
  result.peak_system = {0x42000, 12};
  result.peak_resident = {8192, 13};
  result.syscalls = {.brk = 3, .mmap = 1, .munmap = 1, .mremap = 0, .mprotect = 0, .madvise = 0};
  result.minor_faults = 7;
  result.peak_mappings = 2;
  result.allocator_seconds = 0.25;
  result.replay_seconds = 0.5;
  result.regions = {{.lo = 0x555000, .hi = 0x576000, .birth_event = 1, .origin = 0, .writable = 1}};
  result.own_blocks = {{0x555010, 0x288}};
  result.blocks = {{.address = 0x560010, .usable_bytes = 1016, .requested_bytes = 1000, .event = 42}};
  return result;
}

HolesReport Holes(const ReplayResult& result) {
  const absl::StatusOr<HolesReport> holes = FindHoles(result, 5);
  EXPECT_TRUE(holes.ok()) << holes.status();
  return *holes;
}

TEST(ReplayReportTest, Text) {
  const ReplayResult result = Example();
  EXPECT_EQ(ReplayText("toy.heaptape", result, Holes(result), /*checked=*/true),
            "trace      toy.heaptape (toy): 1,000 events, 2 threads\n"
            "health     complete\n"
            "           3 frees or reallocs of blocks that the trace did not show allocated\n"
            "allocator  glibc 2.36\n"
            "settings   glibc.malloc.mmap_threshold=65536\n"
            "           arenas limited to 64, as on the recorded machine\n"
            "           blocks are not written to: resident bytes are less than the program's\n"
            "note       setting mmap_threshold, trim_threshold, top_pad or mmap_max, whatever the value, also stops\n"
            "           glibc from raising its mmap threshold when mmapped blocks are freed\n"
            "note       the trace was recorded under glibc 2.31\n"
            "digest     0000000000000abc\n"
            "check      a second replay agrees in every address and figure\n"
            "\n"
            "bytes of memory\n"
            "             peak bytes   MB  at event  end bytes   MB\n"
            "  requested       5,000  0.0        10      1,000  0.0\n"
            "  usable          5,008  0.0        11      1,016  0.0\n"
            "  system        270,336  0.3        12    135,168  0.1\n"
            "  resident        8,192  0.0        13      4,096  0.0\n"
            "\n"
            "system bytes after event 1,000\n"
            "      bytes   MB      %\n"
            "      1,016  0.0    0.8  usable by 1 live block; 1,000 were asked for\n"
            "        672  0.0    0.5  overhead: headers, gaps too small for a block\n"
            "    133,480  0.1   98.8  in 2 holes\n"
            "  = 135,168  0.1  100.0  system\n"
            "  largest hole 89,080 bytes; trimmable 126,976 bytes (`heaptape holes` tells more)\n"
            "\n"
            "cost\n"
            "      3  brk\n"
            "      1  mmap\n"
            "      1  munmap\n"
            "      0  mremap\n"
            "      0  mprotect\n"
            "      0  madvise\n"
            "    = 5  system calls for memory\n"
            "      2  mappings at most\n"
            "      7  minor faults\n"
            "  0.250  seconds in the allocator\n"
            "  0.500  seconds in all\n");
}

TEST(ReplayReportTest, AnotherAllocatorIsNamedAndItsLimitsAreSaid) {
  ReplayResult result = Example();
  result.settings.is_glibc = false;
  result.settings.allocator = "jemalloc";
  result.settings.allocator_path = "/lib/libjemalloc.so.2";
  const std::string text = ReplayHeadText("toy.heaptape", result);
  EXPECT_NE(text.find("allocator  jemalloc, /lib/libjemalloc.so.2\n"), std::string::npos) << text;
  EXPECT_NE(text.find("note       this allocator's own tables count as holes"), std::string::npos) << text;
  EXPECT_EQ(text.find("mmap_max"), std::string::npos) << text;
}

TEST(ReplayReportTest, Json) {
  const ReplayResult result = Example();
  const nlohmann::ordered_json json = ReplayJson("toy.heaptape", result, Holes(result), false);
  EXPECT_EQ(json["trace"]["path"], "toy.heaptape");
  EXPECT_EQ(json["trace"]["complete"], true);
  EXPECT_EQ(json["trace"]["orphan_frees"], 3);
  EXPECT_EQ(json["settings"]["tunables"]["glibc.malloc.mmap_threshold"], 65536);
  EXPECT_EQ(json["settings"]["touch"], "none");
  EXPECT_EQ(json["digest"], "0000000000000abc");
  EXPECT_EQ(json["placement"], nullptr);
  EXPECT_EQ(json["peak"]["system_bytes"], 0x42000);
  EXPECT_EQ(json["syscalls"].dump(), R"({"brk":3,"mmap":1,"munmap":1,"mremap":0,"mprotect":0,"madvise":0})");
  const nlohmann::ordered_json& end = json["end"];
  EXPECT_EQ(end["system_bytes"].get<uint64_t>(), end["usable_bytes"].get<uint64_t>() +
                                                     end["overhead_bytes"].get<uint64_t>() +
                                                     end["hole_bytes"].get<uint64_t>());
  EXPECT_EQ(end["live_blocks"], 1);
}

TEST(ReplayReportTest, WhatWasNotMeasuredIsNull) {
  ReplayResult result = Example();
  result.settings.syscalls_seen = false;
  result.health = TraceHealth();  // stopped before the trace's end
  const nlohmann::ordered_json json = ReplayJson("toy.heaptape", result, Holes(result), false);
  EXPECT_EQ(json["trace"]["complete"], nullptr);
  EXPECT_EQ(json["peak"]["system_bytes"], nullptr);
  EXPECT_EQ(json["syscalls"], nullptr);
  EXPECT_EQ(json["peak_mappings"], nullptr);
  EXPECT_NE(json["end"]["system_bytes"], nullptr);
}

TEST(ReplayReportTest, RegionsThatDisagreeWithTheEngineAreAnError) {
  ReplayResult result = Example();
  result.system_bytes += 4096;
  EXPECT_EQ(FindHoles(result, 5).status().code(), absl::StatusCode::kInternal);
}

}  // namespace
}  // namespace heaptape
