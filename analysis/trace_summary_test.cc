#include "analysis/trace_summary.h"

#include <unistd.h>

#include <string>

#include "analysis/trace_summary_text.h"
#include "gtest/gtest.h"
#include "nlohmann/json.hpp"
#include "proto/trace_writer.h"

namespace heaptape {
namespace {

class TraceSummaryTest : public testing::Test {
 protected:
  TraceSummaryTest() : path_(testing::TempDir() + "/trace_summary_test.heaptape") { unlink(path_.c_str()); }
  ~TraceSummaryTest() override { unlink(path_.c_str()); }

  void Write(bool close) {
    Header header;
    header.set_version(kTraceVersion);
    header.set_recorder("test");
    header.add_command_line("sh");
    header.add_command_line("-c\x1b");
    header.set_start_time_ticks(uint64_t{1} << 60);
    header.set_wall_time_ns(1'700'000'000'123'000'000);
    Limit* limit = header.add_limits();
    limit->set_name("Max data size");
    limit->set_soft(5);
    limit->set_hard(~uint64_t{0});
    MappedObject* object = header.add_objects();
    object->set_path("/lib/x.so");
    object->set_base(0x1000);
    object->set_build_id("00ff");
    auto writer = TraceWriter::Create(path_, header);
    ASSERT_TRUE(writer.ok()) << writer.status();
    (*writer)->set_time_ns(1'000'000'000);
    for (const Event& event : {Event{.size = 77, .kind = EventKind::kThreadStart},
                               Event{.address = 0x10, .size = 100},
                               Event{.address = 0x20, .size = 100, .thread = 1},
                               Event{.address = 0x10, .kind = EventKind::kFree}}) {
      ASSERT_TRUE((*writer)->Append(event).ok());
    }
    ASSERT_TRUE((*writer)->Flush().ok());
    MemorySample sample;
    sample.set_time_ns(3'500'000'000);
    sample.set_resident_bytes(5'000'000);
    ASSERT_TRUE((*writer)->AddMemorySample(sample).ok());
    Footer footer;
    footer.set_end("exit");
    ASSERT_TRUE((close ? (*writer)->Close(footer) : (*writer)->Flush()).ok());
  }

  TraceSummary Read() {
    auto reader = TraceReader::Open(path_);
    EXPECT_TRUE(reader.ok()) << reader.status();
    auto summary = Summarize("toy.heaptape", reader->get());
    EXPECT_TRUE(summary.ok()) << summary.status();
    summary->file_bytes = 20;  // compressors differ
    return *summary;
  }

  const std::string path_;
};

TEST_F(TraceSummaryTest, Text) {
  Write(/*close=*/true);
  EXPECT_EQ(TraceSummaryText(Read()),
            "toy.heaptape\n"
            "  health    complete\n"
            "  events    4\n"
            "  threads   2\n"
            "  duration  2.500 s\n"
            "  file      20 bytes, 5.00 an event\n"
            "  resident  5.0 MB at most, by 1 sample\n"
            "\n"
            "recording\n"
            "  version           1\n"
            "  recorder          test\n"
            "  command line      sh -c\\x1b\n"
            "  start time ticks  1152921504606846976\n"
            "  wall time         2023-11-14 22:13:20.123 UTC\n"
            "  limits            Max data size 5, hard unlimited\n"
            "  objects           0x1000 /lib/x.so 00ff\n"
            "  end               exit\n"
            "\n"
            "calls\n"
            "  events      %\n"
            "       2   50.0  malloc\n"
            "       1   25.0  free\n"
            "       1   25.0  thread_start\n"
            "     = 4  100.0\n");
}

TEST_F(TraceSummaryTest, Json) {
  Write(/*close=*/true);
  const nlohmann::json json = nlohmann::json::parse(TraceSummaryJson(Read()));
  EXPECT_EQ(json["events"], 4);
  EXPECT_EQ(json["threads"], 2);
  EXPECT_EQ(json["complete"], true);
  EXPECT_EQ(json["calls"]["malloc"], 2);
  EXPECT_EQ(json["calls"]["pvalloc"], 0);
  EXPECT_EQ(json["header"]["start_time_ticks"], uint64_t{1} << 60);
  EXPECT_EQ(json["header"]["limits"][0]["name"], "Max data size");
  EXPECT_EQ(json["footer"]["end"], "exit");
  EXPECT_EQ(json["duration_ns"], 2'500'000'000);
}

TEST_F(TraceSummaryTest, ATraceThatWasNotClosedSaysSo) {
  Write(/*close=*/false);
  const TraceSummary summary = Read();
  EXPECT_FALSE(summary.health.complete);
  EXPECT_NE(TraceSummaryText(summary).find("health    complete up to event 4\n"), std::string::npos)
      << TraceSummaryText(summary);
}

}  // namespace
}  // namespace heaptape
