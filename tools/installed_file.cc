#include "tools/installed_file.h"

#include <filesystem>
#include <system_error>

#include "absl/strings/str_cat.h"

namespace heaptape {

absl::StatusOr<std::string> FindInstalledFile(const std::string& installed, const std::string& built) {
  std::error_code error;
  const std::filesystem::path root =
      std::filesystem::read_symlink("/proc/self/exe", error).parent_path().parent_path();
  for (const std::string& below : {installed, built}) {
    const std::filesystem::path path = root / below;
    if (std::filesystem::exists(path, error)) return path.string();
  }
  return absl::NotFoundError(absl::StrCat("this installation is not whole: neither ", (root / installed).string(),
                                          " nor ", (root / built).string(), " is there"));
}

}  // namespace heaptape
