// The two renderings of a HolesReport.

#include "analysis/holes_json.h"
#include "analysis/holes_text.h"
#include "gtest/gtest.h"

namespace heaptape {
namespace {

HolesReport Example() {
  HolesReport report;
  report.at_event = 12345;
  report.digest = "00ff";
  report.live_blocks = 1001;
  report.requested_bytes = 10'000'000;
  report.usable_bytes = 10'400'000;
  report.overhead_bytes = 600'000;
  report.system_bytes = 20'000'000;
  report.hole_count = 3;
  report.hole_bytes = 9'000'000;
  report.largest_hole_bytes = 6'000'000;
  report.trimmable_bytes = 8'900'000;
  report.slop_bytes = 300'000;
  report.mapping_padding_bytes = 100'000;
  report.top_bytes = report.brk_top_bytes = 6'000'000;
  report.between_bytes = 3'000'000;
  report.page_part_bytes = 60'000;
  report.small_hole_bytes = 40'000;
  report.small_hole_count = 1;
  report.trim = {.resident_bytes_before = 19'000'000, .resident_bytes_after = 10'500'000};
  report.thread_cache_bytes = 1000;
  report.histogram = {{1 << 20, (1 << 21) - 1, 2, 3'000'000}, {1 << 22, (1 << 23) - 1, 1, 6'000'000}};
  const HeapBlock block = {.requested_bytes = 100, .event = 17, .thread = 2, .kind = EventKind::kCalloc};
  report.largest = {
      {.origin = 0, .offset = 4096, .bytes = 6'000'000, .trimmable_bytes = 5'990'000,
       .before = {Neighbour::Kind::kBlock, block}, .pinned_by = {}},
      {.origin = 3, .offset = 16, .bytes = 2'000'000, .trimmable_bytes = 1'990'000,
       .before = {Neighbour::Kind::kAllocator, {}}, .pinned_by = {Neighbour::Kind::kBlock, block}},
  };
  report.pin_count = 2;
  report.pins = {{block, 2'000'000, 1'990'000}};
  report.pin_groups = {{2, 64, 127, 2, 3'000'000, 17}};
  report.arenas = {{.system_bytes = 15'000'000, .live_blocks = 1000, .usable_bytes = 6'000'000, .hole_count = 3,
                    .hole_bytes = 9'000'000, .trimmable_bytes = 8'900'000},
                   {.one_block = true, .system_bytes = 5'000'000, .live_blocks = 1, .usable_bytes = 4'400'000}};
  return report;
}

TEST(HolesReportTest, Text) {
  EXPECT_EQ(HolesText(Example()),
            "heap after event 12,345\n"
            "         bytes    MB      %\n"
            "    10,000,000  10.0   50.0  asked for by 1,001 live blocks\n"
            "       300,000   0.3    1.5  slop: what these blocks could hold besides\n"
            "       100,000   0.1    0.5  padding: the same, of blocks with a mapping of their own\n"
            "       600,000   0.6    3.0  overhead: headers, gaps too small for a block\n"
            "     3,000,000   3.0   15.0  holes between blocks, pinned by the block behind\n"
            "     6,000,000   6.0   30.0  hole at the top of the heap, kept by a threshold, a pad, or freed blocks in caches\n"
            "  = 20,000,000  20.0  100.0  system; 9,000,000 in 3 holes\n"
            "\n"
            "of the holes\n"
            "        bytes   MB      %\n"
            "    8,900,000  8.9   98.9  trimmable: whole pages, which malloc_trim(0) could give back\n"
            "       60,000  0.1    0.7  in pages that a live block has a part of, at the ends of these holes\n"
            "       40,000  0.0    0.4  in 1 hole without a whole page\n"
            "  = 9,000,000  9.0  100.0  holes\n"
            "        1,000  0.0    0.0  of these in thread caches: free for the program, in use for the heap\n"
            "    8,500,000  8.5   94.4  given back by malloc_trim(0), replayed, every page of a block once written to: "
            "resident 19,000,000 -> 10,500,000\n"
            "\n"
            "holes by size, bytes\n"
            "       from         to  count      bytes      %\n"
            "  1,048,576  2,097,151      2  3,000,000   33.3\n"
            "  4,194,304  8,388,607      1  6,000,000   66.7\n"
            "                     =      3  9,000,000  100.0\n"
            "\n"
            "largest holes; blocks by event, thread, call\n"
            "        bytes  trimmable  region     offset  behind               pinned by\n"
            "    6,000,000  5,990,000  brk         4,096  17 t2 calloc(100)    nothing: end of region\n"
            "    2,000,000  1,990,000  mmap 3         16  the allocator's own  17 t2 calloc(100)\n"
            "    1,000,000    920,000  [1 other]\n"
            "  = 9,000,000  8,900,000\n"
            "\n"
            "who pins the most\n"
            "   held bytes  trimmable  block bytes  event  age, events  thread  call\n"
            "    2,000,000  1,990,000          100     17       12,328  t2      calloc\n"
            "    1,000,000               [1 other]\n"
            "  = 3,000,000\n"
            "\n"
            "pinning blocks by thread and size\n"
            "   held bytes      %  blocks  of bytes   to  median age, events  thread\n"
            "    3,000,000  100.0       2        64  127              12,328  t2\n"
            "  = 3,000,000  100.0       2\n"
            "\n"
            "regions\n"
            "  region             system bytes  live blocks      usable  holes  hole bytes  trimmable\n"
            "  brk                  15,000,000        1,000   6,000,000      3   9,000,000  8,900,000\n"
            "  1 block's mapping     5,000,000            1   4,400,000      0           0          0\n"
            "  =                    20,000,000        1,001  10,400,000      3   9,000,000  8,900,000\n"
            "\n"
            "digest 00ff\n");
}

TEST(HolesReportTest, TextOfAHeapWithoutHoles) {
  EXPECT_EQ(HolesText(HolesReport()),
            "heap after event 0\n"
            "  bytes   MB    %\n"
            "      0  0.0  0.0  asked for by 0 live blocks\n"
            "      0  0.0  0.0  slop: what these blocks could hold besides\n"
            "      0  0.0  0.0  padding: the same, of blocks with a mapping of their own\n"
            "      0  0.0  0.0  overhead: headers, gaps too small for a block\n"
            "      0  0.0  0.0  holes between blocks, pinned by the block behind\n"
            "      0  0.0  0.0  hole at the top of the heap, kept by a threshold, a pad, or freed blocks in caches\n"
            "    = 0  0.0  0.0  system; 0 in 0 holes\n");
}

TEST(HolesReportTest, Json) {
  const nlohmann::ordered_json json = HolesJson(Example());
  EXPECT_EQ(json["at_event"], 12345);
  EXPECT_EQ(json["digest"], "00ff");
  EXPECT_EQ(json["histogram"][1].dump(), R"({"min_bytes":4194304,"max_bytes":8388607,"count":1,"bytes":6000000})");
  EXPECT_EQ(json["holes"][0].dump(),
            R"({"region":"brk","offset":4096,"bytes":6000000,"trimmable_bytes":5990000,)"
            R"("before":{"event":17,"call":"calloc","requested_bytes":100,"thread":2},"pinned_by":null})");
  EXPECT_EQ(json["holes"][1]["before"]["event"], nullptr);
  EXPECT_EQ(json["holes"][1]["pinned_by"]["thread"], 2);
  EXPECT_EQ(json["system_bytes"], json["usable_bytes"].get<int>() + json["overhead_bytes"].get<int>() +
                                      json["hole_bytes"].get<int>());
}

}  // namespace
}  // namespace heaptape
