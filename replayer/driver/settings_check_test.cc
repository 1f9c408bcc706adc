#include "replayer/driver/settings_check.h"

#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "replayer/driver/engine_process.h"

namespace heaptape {
namespace {

using Setting = std::pair<const char*, uint64_t>;

// What is said of `claimed` where the environment sets `actual`.
absl::Status Check(const std::vector<Setting>& actual, const std::vector<Setting>& claimed) {
  std::string variable = "GLIBC_TUNABLES=";
  for (const auto& [name, value] : actual) {
    absl::StrAppend(&variable, variable.back() == '=' ? "" : ":", "glibc.malloc.", name, "=", value);
  }
  TunableMap tunables;
  for (const auto& [name, value] : claimed) {
    tunables[absl::StrCat("glibc.malloc.", name)] = absl::StrCat(value);
  }
  return CheckSettings(*FindEngine(), "", {variable}, tunables);
}

const std::vector<Setting>& Settings() {
  static const auto* const kSettings = new std::vector<Setting>{
      {"mmap_threshold", 0},        {"mmap_threshold", 4096},     {"mmap_threshold", 65536},
      {"mmap_threshold", 131072},   {"mmap_threshold", 20000000}, {"trim_threshold", 0},
      {"trim_threshold", 131072},   {"trim_threshold", 5000000},  {"trim_threshold", 4294967295},
      {"top_pad", 0},               {"top_pad", 4096},            {"top_pad", 10000000},
      {"mmap_max", 0},              {"mmap_max", 3},              {"mmap_max", 100000},
      {"arena_max", 1},             {"arena_max", 2},             {"arena_max", 16},
      {"tcache_count", 0},          {"tcache_count", 1},          {"tcache_count", 7},
      {"tcache_count", 100},        {"tcache_max", 512},          {"tcache_max", 1032},
      {"mxfast", 0},                {"mxfast", 64},               {"mxfast", 160},
      {"perturb", 1},               {"perturb", 255}};
  return *kSettings;
}

TEST(CheckSettings, WhatIsInForceIsFound) {
  for (const Setting& setting : Settings()) {
    SCOPED_TRACE(absl::StrCat(setting.first, "=", setting.second));
    EXPECT_TRUE(Check({setting}, {setting}).ok()) << Check({setting}, {setting});
  }
}

TEST(CheckSettings, TwoAtOnce) {
  for (const Setting& one : Settings()) {
    for (const Setting& other : Settings()) {
      if (std::string(one.first) >= other.first) continue;
      SCOPED_TRACE(absl::StrCat(one.first, "=", one.second, " ", other.first, "=", other.second));
      EXPECT_TRUE(Check({one, other}, {one, other}).ok()) << Check({one, other}, {one, other});
    }
  }
}

TEST(CheckSettings, WhatHasNoEffectIsNamed) {
  const std::vector<std::pair<Setting, Setting>> wrong = {
      {{"mmap_threshold", 65536}, {"mmap_threshold", 131072}},
      {{"mmap_threshold", 131072}, {"mmap_threshold", 65536}},
      {{"trim_threshold", 131072}, {"trim_threshold", 4294967295}},
      {{"trim_threshold", 50000000}, {"trim_threshold", 65536}},
      {{"top_pad", 131072}, {"top_pad", 65536}},
      {{"mmap_max", 65536}, {"mmap_max", 0}},
      {{"mmap_max", 0}, {"mmap_max", 65536}},
      {{"mmap_max", 4}, {"mmap_max", 5}},
      {{"arena_max", 16}, {"arena_max", 2}},
      {{"arena_max", 1}, {"arena_max", 2}},
      {{"tcache_count", 7}, {"tcache_count", 0}},
      {{"tcache_count", 0}, {"tcache_count", 7}},
      {{"tcache_count", 7}, {"tcache_count", 20}},
      {{"tcache_max", 1032}, {"tcache_max", 512}},
      {{"tcache_max", 512}, {"tcache_max", 1000}},
      {{"mxfast", 128}, {"mxfast", 0}},
      {{"mxfast", 32}, {"mxfast", 128}},
      {{"perturb", 0}, {"perturb", 5}},
  };
  for (const auto& [actual, claimed] : wrong) {
    SCOPED_TRACE(absl::StrCat(claimed.first, "=", claimed.second, " where it is ", actual.second));
    const absl::Status status = Check({actual}, {claimed});
    EXPECT_EQ(status.code(), absl::StatusCode::kFailedPrecondition);
    EXPECT_THAT(std::string(status.message()), testing::HasSubstr(claimed.first));
  }
}

}  // namespace
}  // namespace heaptape
