// FindVerdict: the part of verdict.h that replays.

#include <algorithm>
#include <future>
#include <iterator>
#include <utility>

#include "absl/strings/str_cat.h"
#include "analysis/verdict.h"
#include "replayer/driver/tunables.h"

namespace heaptape {
namespace {

constexpr char kMmapThreshold[] = "glibc.malloc.mmap_threshold";
constexpr char kTrimThreshold[] = "glibc.malloc.trim_threshold";
constexpr char kArenaMax[] = "glibc.malloc.arena_max";
constexpr char kTcacheCount[] = "glibc.malloc.tcache_count";

// One question: the settings to ask it with, and where the answer goes.
struct Question {
  ReplaySettings settings;
  VerdictProbe probe;
  std::optional<VerdictProbe> VerdictFacts::*answer;
};

Question Ask(const ReplaySettings& settings, const char* name, const char* value, const char* purpose,
             std::optional<VerdictProbe> VerdictFacts::*answer) {
  Question question = {settings, {}, answer};
  question.settings.tunables[name] = value;
  question.settings.check = false;
  question.probe.setting = absl::StrCat(name, "=", value);
  question.probe.purpose = purpose;
  return question;
}

std::vector<Question> QuestionsFor(const ReplayResult& result, const ReplaySettings& settings) {
  std::vector<Question> questions;
  if (!result.settings.is_glibc) return questions;
  const auto is_set = [&result](const char* name) { return result.settings.tunables.count(name) > 0; };
  if (!FreezesMmapThreshold(result.settings.tunables)) {
    questions.push_back(Ask(settings, kTrimThreshold, "131072", "the default, which keeps the mmap threshold from moving",
                            &VerdictFacts::frozen));
  }
  if (result.plan.threads > 1) {
    questions.push_back(Ask(settings, kArenaMax, "1", "one arena for all threads", &VerdictFacts::one_arena));
  }
  questions.push_back(Ask(settings, kTcacheCount, "0", "no thread caches", &VerdictFacts::no_thread_cache));
  if (!settings.tunables.empty()) {
    Question question = {settings, {}, &VerdictFacts::untuned};
    question.settings.tunables.clear();
    question.settings.check = false;
    question.probe.setting = "as recorded";
    question.probe.purpose = "without the settings asked for";
    questions.push_back(question);
  } else if (is_set(kMmapThreshold)) {
    questions.push_back(Ask(settings, kMmapThreshold, "131072", "the recorded mmap threshold back at its default",
                            &VerdictFacts::untuned));
  }
  return questions;
}

}  // namespace

absl::StatusOr<Verdict> FindVerdict(const ReplayResult& result, const HolesReport& holes,
                                    const ReplaySettings& settings, const ProbeFunction& probe) {
  VerdictFacts facts = FactsOf(result, holes);
  if (!NeedsProbes(facts)) return Judge(facts);
  std::vector<Question> questions = QuestionsFor(result, settings);
  const auto answer = [&](Question* question) -> absl::Status {
    const absl::StatusOr<ReplayResult> probed = probe(question->settings);
    if (!probed.ok()) return probed.status();
    question->probe.system_bytes = probed->system_bytes;
    question->probe.peak_system_bytes = probed->peak_system.bytes;
    question->probe.peak_mappings = probed->peak_mappings;
    question->probe.system_calls = Total(probed->syscalls);
    return absl::OkStatus();
  };
  for (size_t i = 0; i < questions.size(); i += 2) {
    std::future<absl::Status> beside;
    if (i + 1 < questions.size()) beside = std::async(std::launch::async, answer, &questions[i + 1]);
    absl::Status status = answer(&questions[i]);
    if (beside.valid()) status.Update(beside.get());
    if (!status.ok()) return status;
  }
  for (Question& question : questions) facts.*question.answer = std::move(question.probe);
  return Judge(facts);
}

}  // namespace heaptape
