#include "verifier/verifier.h"

#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <set>
#include <system_error>
#include <tuple>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "replayer/driver/settings_check.h"
#include "verifier/command_run.h"

namespace heaptape {
namespace {

const WantedSetting* Find(const std::vector<WantedSetting>& settings, const std::string& name) {
  const auto found = std::find_if(settings.begin(), settings.end(),
                                  [&name](const WantedSetting& setting) { return setting.name == name; });
  return found == settings.end() ? nullptr : &*found;
}

void AddMissing(const std::vector<WantedSetting>& settings, std::vector<WantedSetting>* to) {
  for (const WantedSetting& setting : settings) {
    if (Find(*to, setting.name) == nullptr) to->push_back(setting);
  }
}

std::vector<std::string> Variables(const char* block, uint32_t bytes) {
  const std::string text(block, bytes);
  return absl::StrSplit(text, '\0', absl::SkipEmpty());
}

ProcessFacts FactsOf(const ProbeReport& report, const MallocLayout& layout) {
  ProcessFacts facts;
  facts.pid = report.pid;
  facts.parent_pid = report.parent_pid;
  facts.program = report.program;
  facts.command = absl::StrJoin(Variables(report.command, sizeof(report.command)), " ");
  facts.c_library = CLibrary::kGlibc;
  facts.c_library_path = report.libc;
  facts.glibc_version = report.glibc_version;
  if (report.is_glibc == 0) facts.allocator = report.allocator;
  facts.environment = Variables(report.environment, report.environment_bytes);
  if (report.ended != 0) facts.later_environment = Variables(report.later_environment, report.later_environment_bytes);
  facts.mallopt_calls = report.mallopt_calls;
  if (report.is_glibc == 0) return facts;
  if (report.probed == 0) {
    facts.unreadable = absl::StrCat("the probe in process ", report.pid, " came to no end");
    return facts;
  }
  facts.probed_itself = true;
  for (uint32_t i = 0; i < kProbedSettings; ++i) {
    if (report.probes[i].is_set != 0) facts.probes[ProbedTunable(ProbedSetting(i))] = report.probes[i].result;
  }
  if (report.parameters_known != 0) {
    facts.layout = layout;
    facts.parameters = report.now;
    facts.fresh = report.at_start;
  }
  return facts;
}

// Settings in an environment that their parents' children should have, too.
std::vector<WantedSetting> HandedOn(const std::vector<std::string>& environment) {
  std::vector<WantedSetting> settings = SettingsInEnvironment(environment);
  for (WantedSetting& setting : settings) setting.asked_by = "parent";
  return settings;
}

uint64_t MonotonicNs() {
  timespec time;
  clock_gettime(CLOCK_MONOTONIC, &time);
  return static_cast<uint64_t>(time.tv_sec) * 1000000000u + static_cast<uint64_t>(time.tv_nsec);
}

std::vector<std::string> OwnEnvironment() {
  std::vector<std::string> variables;
  for (char** entry = environ; *entry != nullptr; ++entry) {
    if (IsSettingVariable(*entry)) variables.push_back(*entry);
  }
  return variables;
}

}  // namespace

absl::StatusOr<const Verifier::KnownGlibc*> Verifier::Know(const std::string& libc_path) {
  struct stat info;
  if (stat(libc_path.c_str(), &info) != 0) {
    return absl::NotFoundError(absl::StrCat(libc_path, " cannot be opened"));
  }
  const std::pair<uint64_t, uint64_t> file = {info.st_dev, info.st_ino};
  const auto there = glibcs_.find(file);
  if (there != glibcs_.end()) return &there->second;
  const std::string directory = std::filesystem::path(libc_path).parent_path().string();
  absl::StatusOr<Tunables> tunables = Tunables::Load(directory);
  if (!tunables.ok()) return tunables.status();
  KnownGlibc known = {directory, *std::move(tunables), WitnessLayout(files_.witness, directory)};
  return &glibcs_.emplace(file, std::move(known)).first->second;
}

absl::StatusOr<ProcessFacts> Verifier::LookFromOutside(int pid) {
  LoadedLibc libc;
  absl::StatusOr<ProcessFacts> facts = ReadProcess(pid, &libc);
  if (!facts.ok() || facts->c_library != CLibrary::kGlibc) return facts;
  if (libc.path.empty()) {
    facts->unreadable = absl::StrCat(facts->c_library_path, " has been replaced since process ", pid, " was started");
    return facts;
  }
  const absl::StatusOr<const KnownGlibc*> glibc = Know(libc.path);
  if (!glibc.ok()) {
    facts->unreadable = std::string(glibc.status().message());
    return facts;
  }
  facts->glibc_directory = (*glibc)->directory;
  const absl::StatusOr<WitnessedGlibc>& witnessed = (*glibc)->witnessed;
  if (!witnessed.ok()) {
    facts->unreadable = std::string(witnessed.status().message());
    return facts;
  }
  facts->glibc_version = witnessed->version;
  facts->layout = witnessed->layout;
  absl::StatusOr<MallocParameters> parameters = ReadParameters(pid, libc.base, facts->layout);
  if (parameters.ok()) {
    facts->parameters = *parameters;
  } else {
    facts->unreadable = std::string(parameters.status().message());
  }
  return facts;
}

void Verifier::TryEnvironment(ProcessFacts* facts) {
  if (facts->glibc_directory.empty()) return;
  if (facts->parameters.has_value()) {
    const absl::StatusOr<MallocParameters> fresh =
        WitnessParameters(files_.witness, facts->glibc_directory, facts->layout, facts->environment);
    if (fresh.ok()) facts->fresh = *fresh;
  }
  TunableMap settings;
  for (const WantedSetting& setting : SettingsInEnvironment(facts->environment)) {
    const absl::StatusOr<std::string> value = TunablesOf(*facts).Check(setting.name, setting.value);
    if (value.ok()) settings[setting.name] = *value;
  }
  const auto tried = TrySettings(files_.engine, facts->glibc_directory, facts->environment, settings);
  if (tried.ok()) facts->probes = *tried;
}

const Tunables& Verifier::TunablesOf(const ProcessFacts& facts) const {
  for (const auto& [file, glibc] : glibcs_) {
    if (glibc.directory == facts.glibc_directory) return glibc.tunables;
  }
  return system_tunables_;
}

VerifiedProcess Verifier::Verify(ProcessFacts facts, const std::vector<WantedSetting>& inherited) {
  if (!facts.probed_itself) TryEnvironment(&facts);
  const Tunables& known = TunablesOf(facts);
  std::vector<WantedSetting> wanted = expected_;
  AddMissing(SettingsInEnvironment(facts.environment), &wanted);
  if (facts.later_environment.has_value()) AddMissing(SettingsInEnvironment(*facts.later_environment), &wanted);
  // What is misspelt is told of where it stands.
  for (const WantedSetting& setting : inherited) {
    if (known.ranges().count(setting.name) > 0) AddMissing({setting}, &wanted);
  }
  std::vector<JudgedSetting> judged = Judge(facts, wanted, known);
  return VerifiedProcess{std::move(facts), std::move(judged)};
}

absl::StatusOr<Verifier> Verifier::Create(VerifierFiles files, std::vector<WantedSetting> expected) {
  absl::StatusOr<Tunables> tunables = Tunables::Load();
  if (!tunables.ok()) return tunables.status();
  return Verifier(std::move(files), std::move(expected), *std::move(tunables));
}

absl::StatusOr<Verification> Verifier::VerifyProcess(int pid) {
  absl::StatusOr<ProcessFacts> facts = LookFromOutside(pid);
  if (!facts.ok()) return facts.status();
  if (facts->is_refused) return absl::PermissionDeniedError(facts->unreadable);
  std::map<int, std::vector<WantedSetting>> handed_on;
  LoadedLibc ignored;
  // Its parent may be another user's, or nobody's business: what it does not tell is not missed.
  if (const absl::StatusOr<ProcessFacts> parent = ReadProcess(facts->parent_pid, &ignored); parent.ok()) {
    handed_on[facts->parent_pid] = HandedOn(parent->environment);
  }
  Verification verification;
  std::vector<int> pids = Descendants(pid);
  pids.insert(pids.begin(), pid);
  for (const int at : pids) {
    if (at != pid) facts = LookFromOutside(at);
    if (!facts.ok()) continue;  // it has ended
    // Where we are below it ourselves, we are no part of it.
    if (at != pid && (at == getpid() || facts->parent_pid == getpid())) continue;
    const std::vector<WantedSetting> inherited = handed_on[facts->parent_pid];
    handed_on[at] = HandedOn(facts->environment);
    AddMissing(inherited, &handed_on[at]);
    verification.processes.push_back(Verify(*std::move(facts), inherited));
  }
  return verification;
}

absl::StatusOr<Verification> Verifier::VerifyCommand(const std::vector<std::string>& command) {
  ProbeRequest request = {};
  LoadedLibc libc;
  const absl::StatusOr<ProcessFacts> self = ReadProcess(getpid(), &libc);
  if (!self.ok()) return self.status();
  // Most programs run with the glibc that we run with.
  if (const absl::StatusOr<const KnownGlibc*> glibc = Know(libc.path); glibc.ok() && (*glibc)->witnessed.ok()) {
    struct stat info;
    if (stat(libc.path.c_str(), &info) == 0) {
      request.device = info.st_dev;
      request.inode = info.st_ino;
      request.layout = (*glibc)->witnessed->layout;
    }
  }
  for (uint32_t i = 0; i < kProbedSettings; ++i) {
    const WantedSetting* const setting = Find(expected_, ProbedTunable(ProbedSetting(i)));
    if (setting != nullptr && absl::SimpleAtoi(setting->value, &request.probes[i].value)) request.probes[i].is_set = 1;
  }
  const absl::StatusOr<std::unique_ptr<CommandRun>> run = CommandRun::Create(request);
  if (!run.ok()) return run.status();

  // A program in a process, and since when it is known to be there.
  struct Image {
    ProcessFacts facts;
    uint64_t since_ns;
  };
  // Those that the library is not in, by process and program.
  std::map<std::pair<int, std::string>, Image> from_outside;
  std::set<std::pair<int, std::string>> reported;
  const absl::StatusOr<int> exit_status = (*run)->Run(command, files_.probe, [&](int pid) {
    std::error_code error;
    const std::string program = std::filesystem::read_symlink(absl::StrCat("/proc/", pid, "/exe"), error).string();
    const std::pair<int, std::string> image = {pid, program};
    if (reported.count(image) > 0 || from_outside.count(image) > 0) return;
    for (const ProbeReport& report : (*run)->ReportsOf(pid)) reported.emplace(report.pid, report.program);
    if (reported.count(image) > 0) return;
    const uint64_t now_ns = MonotonicNs();
    absl::StatusOr<ProcessFacts> facts = LookFromOutside(pid);
    // Otherwise its dynamic linker is still at work, or it has just ended.
    const bool is_told = facts.ok() && (facts->c_library != CLibrary::kUnknown || facts->is_refused);
    if (is_told) from_outside.emplace(image, Image{*std::move(facts), now_ns});
  });
  if (!exit_status.ok()) return exit_status.status();

  // By process, and in it in the order in which they were there. Who looked from outside
  // may have come before the library did, and may have seen the child it has.
  std::vector<Image> images;
  reported.clear();
  for (const ProbeReport& report : (*run)->Reports()) {
    images.push_back({FactsOf(report, request.layout), report.begin_ns});
    reported.emplace(report.pid, report.program);
    reported.emplace(report.child_pid, report.program);
  }
  for (auto& [image, looked_at] : from_outside) {
    if (reported.count(image) == 0) images.push_back(std::move(looked_at));
  }
  std::sort(images.begin(), images.end(), [](const Image& a, const Image& b) {
    return std::tie(a.facts.pid, a.since_ns) < std::tie(b.facts.pid, b.since_ns);
  });

  Verification verification;
  verification.exit_status = *exit_status;
  std::map<int, std::vector<WantedSetting>> handed_on;
  handed_on[getpid()] = HandedOn(OwnEnvironment());
  for (size_t i = 0; i < images.size(); ++i) {
    const int pid = images[i].facts.pid;
    // An image that has become another is no process any more, but hands on what it had.
    std::vector<WantedSetting> inherited = handed_on[images[i].facts.parent_pid];
    AddMissing(handed_on[pid], &inherited);
    const std::vector<std::string> environment = images[i].facts.environment;
    if (i + 1 == images.size() || images[i + 1].facts.pid != pid) {
      verification.processes.push_back(Verify(std::move(images[i].facts), inherited));
    }
    handed_on[pid] = HandedOn(environment);
    AddMissing(inherited, &handed_on[pid]);
  }
  return verification;
}

}  // namespace heaptape
