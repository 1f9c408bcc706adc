#include "recorder/collector/obstacle.h"

#include <elf.h>
#include <link.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/xattr.h>
#include <unistd.h>

#include <fstream>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"

namespace heaptape {
namespace {

std::string FindInPath(const std::string& command) {
  const char* const path = getenv("PATH");
  if (absl::StrContains(command, "/") || path == nullptr) return command;
  for (absl::string_view directory : absl::StrSplit(path, ':')) {
    const std::string candidate = absl::StrCat(directory, "/", command);
    if (access(candidate.c_str(), X_OK) == 0) return candidate;
  }
  return command;
}

// The dynamic linker that a 64-bit ELF file asks for; empty: none.
std::string Interpreter(std::ifstream& file, const ElfW(Ehdr)& header) {
  for (int i = 0; i < header.e_phnum; ++i) {
    ElfW(Phdr) segment;
    file.seekg(static_cast<std::streamoff>(header.e_phoff + static_cast<uint64_t>(i) * sizeof segment));
    if (!file.read(reinterpret_cast<char*>(&segment), sizeof segment)) return "";
    if (segment.p_type != PT_INTERP || segment.p_filesz > 4096) continue;
    std::string name(segment.p_filesz, 0);
    file.seekg(static_cast<std::streamoff>(segment.p_offset));
    file.read(name.data(), static_cast<std::streamsize>(name.size()));
    return std::string(absl::StripSuffix(name, absl::string_view("\0", 1)));
  }
  return "";
}

}  // namespace

std::string FindObstacle(const std::string& command) {
  const std::string path = FindInPath(command);
  std::ifstream file(path, std::ios::binary);
  ElfW(Ehdr) header = {};
  file.read(reinterpret_cast<char*>(&header), sizeof header);
  if (file.gcount() >= 2 && memcmp(&header, "#!", 2) == 0) {
    std::ifstream script(path);
    std::string line;
    std::getline(script, line);
    const std::vector<std::string> words = absl::StrSplit(line.substr(2), ' ', absl::SkipEmpty());
    return words.empty() ? "" : FindObstacle(words[0]);
  }
  if (memcmp(header.e_ident, ELFMAG, SELFMAG) != 0) return "it is no ELF program";
  if (header.e_ident[EI_CLASS] != ELFCLASS64) return "it is a 32-bit program, and our library is for 64 bits";
  const std::string interpreter = Interpreter(file, header);
  if (interpreter.empty()) return "it is statically linked, so that no library can be preloaded";
  if (!absl::StrContains(interpreter, "ld-linux")) {
    return absl::StrCat("it is for another C library: its dynamic linker is ", interpreter);
  }
  struct stat info;
  if (stat(path.c_str(), &info) == 0 && (info.st_mode & (S_ISUID | S_ISGID)) != 0 &&
      (info.st_uid != getuid() || info.st_gid != getgid())) {
    return "it is setuid or setgid, so that the dynamic linker ignores LD_PRELOAD; run it as the user it changes to";
  }
  if (getxattr(path.c_str(), "security.capability", nullptr, 0) > 0) {
    return "it has file capabilities, so that the dynamic linker ignores LD_PRELOAD";
  }
  return "";
}

}  // namespace heaptape
