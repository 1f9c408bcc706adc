#include "analysis/heap_profile.h"

#include <google/protobuf/io/gzip_stream.h>
#include <google/protobuf/io/zero_copy_stream_impl_lite.h>

#include <array>
#include <bit>
#include <cstdint>
#include <map>
#include <tuple>
#include <vector>

#include "absl/strings/str_cat.h"
#include "analysis/profile.pb.h"
#include "analysis/text_table.h"

namespace heaptape {
namespace {

enum Value { kLiveObjects, kLiveBytes, kUsableBytes, kPinnedBytes, kValues };

constexpr struct {
  const char* type;
  const char* unit;
} kTypes[kValues] = {
    {"live_objects", "count"}, {"live_space", "bytes"}, {"usable_space", "bytes"}, {"pinned_holes", "bytes"}};

class Builder {
 public:
  Builder() {
    String("");
    for (const auto& type : kTypes) {
      pprof::ValueType* value = profile_.add_sample_type();
      value->set_type(String(type.type));
      value->set_unit(String(type.unit));
    }
    profile_.set_default_sample_type(String(kTypes[kLiveBytes].type));
  }

  void Comment(const std::string& comment) { profile_.add_comment(String(comment)); }

  // Frames from the innermost outwards.
  void Add(const std::vector<std::string>& frames, const std::array<int64_t, kValues>& values, uint64_t bytes) {
    pprof::Sample* sample = profile_.add_sample();
    for (const std::string& frame : frames) sample->add_location_id(Location(frame));
    for (int64_t value : values) sample->add_value(value);
    pprof::Label* label = sample->add_label();
    label->set_key(String("bytes"));
    label->set_num(static_cast<int64_t>(bytes));
    label->set_num_unit(String("bytes"));
  }

  const pprof::Profile& profile() const { return profile_; }

 private:
  int64_t String(const std::string& text) {
    const auto [found, is_new] = strings_.try_emplace(text, profile_.string_table_size());
    if (is_new) profile_.add_string_table(text);
    return found->second;
  }

  uint64_t Location(const std::string& name) {
    const auto [found, is_new] = locations_.try_emplace(name, locations_.size() + 1);
    if (is_new) {
      pprof::Function* function = profile_.add_function();
      function->set_id(found->second);
      function->set_name(String(name));
      function->set_system_name(String(name));
      pprof::Location* location = profile_.add_location();
      location->set_id(found->second);
      location->add_line()->set_function_id(found->second);
    }
    return found->second;
  }

  pprof::Profile profile_;
  std::map<std::string, int64_t> strings_;
  std::map<std::string, uint64_t> locations_;
};

}  // namespace

absl::StatusOr<std::string> HeapProfile(const ReplayHeap& heap, const std::string& comment) {
  // By thread, call, size class.
  std::map<std::tuple<uint32_t, EventKind, uint64_t>, std::array<int64_t, kValues>> samples;
  const auto sample_of = [&](const HeapBlock& block) -> std::array<int64_t, kValues>& {
    const uint64_t size_class = block.requested_bytes == 0 ? 0 : std::bit_floor(block.requested_bytes);
    return samples[{block.thread, block.kind, size_class}];
  };
  for (const HeapBlock& block : heap.blocks) {
    std::array<int64_t, kValues>& values = sample_of(block);
    ++values[kLiveObjects];
    values[kLiveBytes] += static_cast<int64_t>(block.requested_bytes);
    values[kUsableBytes] += static_cast<int64_t>(block.usable_bytes);
  }
  int64_t unpinned = 0;
  for (const Hole& hole : heap.map.holes) {
    if (hole.after >= 0) {
      sample_of(heap.blocks[static_cast<size_t>(hole.after)])[kPinnedBytes] += static_cast<int64_t>(hole.bytes);
    } else {
      unpinned += static_cast<int64_t>(hole.bytes);
    }
  }

  Builder builder;
  builder.Comment(comment);
  for (const auto& [key, values] : samples) {
    const auto& [thread, kind, size_class] = key;
    const std::string size = size_class == 0 ? "0 bytes" : absl::StrCat(size_class, " to ", 2 * size_class - 1, " bytes");
    builder.Add({size, EventName(kind), absl::StrCat("thread ", thread)}, values, size_class);
  }
  if (unpinned > 0) builder.Add({"no block: ends of regions"}, {0, 0, 0, unpinned}, 0);

  std::string bytes;
  {
    google::protobuf::io::StringOutputStream out(&bytes);
    google::protobuf::io::GzipOutputStream gzip(&out);
    if (!builder.profile().SerializeToZeroCopyStream(&gzip) || !gzip.Close()) {
      return absl::InternalError("the profile cannot be compressed");
    }
  }
  return bytes;
}

}  // namespace heaptape
