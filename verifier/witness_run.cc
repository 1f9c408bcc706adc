#include "verifier/witness_run.h"

#include <map>
#include <utility>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/strings/string_view.h"
#include "replayer/driver/program_output.h"
#include "replayer/driver/tunables.h"

namespace heaptape {
namespace {

// Its lines, "NAME VALUE".
absl::StatusOr<std::map<std::string, std::string>> RunWitness(const std::string& witness,
                                                              const std::string& glibc_directory,
                                                              const std::vector<std::string>& offsets,
                                                              const std::vector<std::string>& environment) {
  std::vector<std::string> arguments = {LoaderPath(glibc_directory), "--library-path", glibc_directory, witness};
  arguments.insert(arguments.end(), offsets.begin(), offsets.end());
  const absl::StatusOr<std::string> output = OutputOf(arguments, environment);
  if (!output.ok()) return output.status();
  std::map<std::string, std::string> lines;
  for (absl::string_view line : absl::StrSplit(*output, '\n', absl::SkipEmpty())) {
    lines.insert(std::pair<std::string, std::string>(absl::StrSplit(line, absl::MaxSplits(' ', 1))));
  }
  if (lines.count("version") == 0) {
    return absl::UnavailableError(absl::StrCat("the glibc in ", glibc_directory, " cannot be run here"));
  }
  return lines;
}

void TakeValues(const std::map<std::string, std::string>& lines, uint64_t* values) {
  for (uint32_t i = 0; i < kMallocParameters; ++i) {
    const auto line = lines.find(kMallocParameterNames[i]);
    if (line == lines.end() || !absl::SimpleAtoi(line->second, &values[i])) values[i] = 0;
  }
}

}  // namespace

absl::StatusOr<WitnessedGlibc> WitnessLayout(const std::string& witness, const std::string& glibc_directory) {
  std::string settings = "GLIBC_TUNABLES=";
  for (const WitnessSetting& setting : kWitnessSettings) {
    absl::StrAppend(&settings, settings.back() == '=' ? "" : ":", "glibc.malloc.",
                    kMallocParameterNames[setting.parameter], "=", setting.value);
  }
  const auto lines = RunWitness(witness, glibc_directory, {}, {settings});
  if (!lines.ok()) return lines.status();
  WitnessedGlibc glibc = {lines->at("version"), {}};
  TakeValues(*lines, glibc.layout.offsets);
  if (glibc.layout.offsets[kMmapThreshold] == 0) {
    return absl::UnavailableError(
        absl::StrCat("glibc ", glibc.version, " keeps what its malloc goes by in a way that is not known here"));
  }
  return glibc;
}

absl::StatusOr<MallocParameters> WitnessParameters(const std::string& witness, const std::string& glibc_directory,
                                                   const MallocLayout& layout,
                                                   const std::vector<std::string>& environment) {
  std::vector<std::string> offsets;
  for (uint64_t offset : layout.offsets) offsets.push_back(absl::StrCat(offset));
  const auto lines = RunWitness(witness, glibc_directory, offsets, environment);
  if (!lines.ok()) return lines.status();
  MallocParameters parameters = {};
  TakeValues(*lines, parameters.values);
  return parameters;
}

}  // namespace heaptape
