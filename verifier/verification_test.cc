#include "verifier/verification.h"

#include <string>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "nlohmann/json.hpp"

namespace heaptape {
namespace {

using testing::HasSubstr;
using testing::Not;

VerifiedProcess Process(int pid, Verdict verdict) {
  VerifiedProcess process;
  process.facts.pid = pid;
  process.facts.program = "/bin/app";
  process.facts.c_library = CLibrary::kGlibc;
  process.facts.c_library_path = "/lib/libc.so.6";
  process.facts.glibc_version = "2.36";
  JudgedSetting setting;
  setting.wanted = {"glibc.malloc.mmap_threshold", "65536", "GLIBC_TUNABLES"};
  setting.at_exec = "65536";
  setting.in_force = "131072";
  setting.verdict = verdict;
  if (verdict == Verdict::kNotInForce) setting.cause = Cause::kOverridden;
  process.settings = {setting};
  return process;
}

TEST(Verification, ExitsByAll) {
  Verification verification;
  EXPECT_FALSE(verification.in_force());
  verification.processes = {Process(1, Verdict::kInForce), Process(2, Verdict::kByEnvironment)};
  EXPECT_TRUE(verification.in_force());
  verification.processes.push_back(VerifiedProcess());  // of which nothing is wanted
  EXPECT_TRUE(verification.in_force());
  verification.processes.push_back(Process(3, Verdict::kUnknown));
  EXPECT_FALSE(verification.in_force());
}

TEST(VerificationText, ManyWorkersAreARow) {
  Verification verification;
  for (int pid = 101; pid <= 140; ++pid) verification.processes.push_back(Process(pid, Verdict::kInForce));
  for (int pid = 141; pid <= 150; ++pid) verification.processes.push_back(Process(pid, Verdict::kNotInForce));
  const std::string text = VerificationText(verification);
  EXPECT_THAT(text, HasSubstr("process    101 (/bin/app)\nlibc       glibc 2.36, /lib/libc.so.6\n"));
  EXPECT_THAT(text, HasSubstr("process    141 "));
  EXPECT_THAT(text, Not(HasSubstr("process    145 ")));
  EXPECT_THAT(text, HasSubstr("  145  app          NOT all in force\n"));
  EXPECT_THAT(text, HasSubstr("       [25 others]\n"));
  EXPECT_THAT(text, HasSubstr("\nNOT all in force: 10 of 50 settings in 50 processes are not\n"));
}

TEST(VerificationText, NothingInItDisturbsATerminal) {
  Verification verification;
  verification.processes = {Process(1, Verdict::kInForce)};
  verification.processes[0].facts.command = "app \x1b[31m\n";
  EXPECT_THAT(VerificationText(verification), HasSubstr("process    1 (app  [31m )\n"));
}

TEST(VerificationJson, Keys) {
  Verification verification;
  verification.processes = {Process(7, Verdict::kNotInForce)};
  const nlohmann::json json = nlohmann::json::parse(VerificationJson(verification));
  EXPECT_EQ(json["in_force"], false);
  EXPECT_EQ(json["exit_status"], nullptr);
  const nlohmann::json& process = json["processes"][0];
  EXPECT_EQ(process["pid"], 7);
  EXPECT_EQ(process["c_library"], "glibc");
  EXPECT_EQ(process["allocator"], nullptr);
  const nlohmann::json& setting = process["settings"][0];
  EXPECT_EQ(setting["name"], "glibc.malloc.mmap_threshold");
  EXPECT_EQ(setting["wanted"], 65536);
  EXPECT_EQ(setting["in_force"], 131072);
  EXPECT_EQ(setting["verdict"], "not_in_force");
  EXPECT_EQ(setting["cause"], "overridden");
}

}  // namespace
}  // namespace heaptape
