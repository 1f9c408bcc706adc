#include "analysis/heap_profile.h"

#include <google/protobuf/io/gzip_stream.h>
#include <google/protobuf/io/zero_copy_stream_impl_lite.h>

#include <map>

#include "analysis/profile.pb.h"
#include "gtest/gtest.h"

namespace heaptape {
namespace {

TEST(HeapProfileTest, HoldsLiveAndPinnedBytes) {
  ReplayHeap heap;
  heap.blocks = {
      {.address = 0x10010, .usable_bytes = 0x28, .requested_bytes = 40, .event = 1, .thread = 2},
      {.address = 0x12010, .usable_bytes = 0x38, .requested_bytes = 50, .event = 2, .thread = 2},
      {.address = 0x14010, .usable_bytes = 0x88, .requested_bytes = 130, .event = 3, .kind = EventKind::kCalloc},
  };
  heap.regions = {{.lo = 0x10000, .hi = 0x20000, .writable = true}};
  auto map = MapHeap(heap.blocks, heap.regions, {}, kGlibcLayout);
  ASSERT_TRUE(map.ok());
  heap.map = *map;
  const auto bytes = HeapProfile(heap, "digest 00ff");
  ASSERT_TRUE(bytes.ok()) << bytes.status();
  EXPECT_EQ(*bytes, *HeapProfile(heap, "digest 00ff"));
  EXPECT_EQ(bytes->substr(0, 2), "\x1f\x8b");

  google::protobuf::io::ArrayInputStream in(bytes->data(), static_cast<int>(bytes->size()));
  google::protobuf::io::GzipInputStream gzip(&in);
  pprof::Profile profile;
  ASSERT_TRUE(profile.ParseFromZeroCopyStream(&gzip));
  ASSERT_EQ(profile.sample_type_size(), 4);
  EXPECT_EQ(profile.string_table(0), "");
  EXPECT_EQ(profile.string_table(static_cast<int>(profile.sample_type(3).type())), "pinned_holes");
  std::map<int, int64_t> sums;
  for (const pprof::Sample& sample : profile.sample()) {
    ASSERT_EQ(sample.value_size(), 4);
    for (uint64_t location : sample.location_id()) {
      ASSERT_GE(location, 1u);
      ASSERT_LE(location, static_cast<uint64_t>(profile.location_size()));
    }
    for (int i = 0; i < 4; ++i) sums[i] += sample.value(i);
  }
  EXPECT_EQ(profile.sample_size(), 3);
  EXPECT_EQ(sums[0], 3);
  EXPECT_EQ(sums[1], 220);
  EXPECT_EQ(sums[2], 0x28 + 0x38 + 0x88);
  EXPECT_EQ(static_cast<uint64_t>(sums[3]), heap.map.hole_bytes);
}

}  // namespace
}  // namespace heaptape
