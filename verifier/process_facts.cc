#include "verifier/process_facts.h"

#include <elf.h>
#include <errno.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <set>
#include <system_error>

#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"
#include "recorder/collector/proc_text.h"
#include "verifier/elf_file.h"

namespace heaptape {
namespace {

absl::Status ReadMemory(int pid, uint64_t address, void* to, size_t bytes) {
  const iovec here = {to, bytes};
  const iovec there = {reinterpret_cast<void*>(address), bytes};
  const ssize_t got = process_vm_readv(pid, &here, 1, &there, 1, 0);
  if (got == static_cast<ssize_t>(bytes)) return absl::OkStatus();
  if (got < 0 && errno == EPERM) {
    return absl::PermissionDeniedError(
        absl::StrCat("the memory of process ", pid, " may not be read; run this as root"));
  }
  return absl::NotFoundError(absl::StrCat("the memory of process ", pid, " cannot be read at ", address));
}

// A string in the process, whose end may lie in a page that is not there.
std::string ReadString(int pid, uint64_t address) {
  constexpr size_t kPage = 4096, kMost = 128 << 10;
  std::string text;
  while (text.size() < kMost) {
    char piece[kPage];
    const size_t bytes = kPage - address % kPage;
    if (!ReadMemory(pid, address, piece, bytes).ok()) return text;
    const size_t length = strnlen(piece, bytes);
    text.append(piece, length);
    if (length < bytes) return text;
    address += bytes;
  }
  return text;
}

struct Mapping {
  uint64_t start = 0;
  uint64_t inode = 0;
  std::string path;
  bool is_deleted = false;  // another file may be there now
};

// The first mapping of each file.
std::vector<Mapping> MappedFiles(const std::string& maps) {
  std::vector<Mapping> files;
  std::set<std::string> seen;
  for (absl::string_view line : absl::StrSplit(maps, '\n')) {
    const size_t path_at = line.find('/');
    if (path_at == absl::string_view::npos) continue;
    absl::string_view path = line.substr(path_at);
    const bool is_deleted = absl::ConsumeSuffix(&path, " (deleted)");
    // START-END RIGHTS OFFSET DEVICE INODE PATH
    const std::vector<absl::string_view> fields = absl::StrSplit(line.substr(0, path_at), ' ', absl::SkipEmpty());
    Mapping mapping = {0, 0, std::string(path), is_deleted};
    if (seen.insert(mapping.path).second && fields.size() == 5 && absl::SimpleAtoi(fields[4], &mapping.inode) &&
        absl::SimpleHexAtoi(line.substr(0, line.find('-')), &mapping.start)) {
      files.push_back(mapping);
    }
  }
  return files;
}

// Paths in a container's process are those of the container, and in a process that
// only changed its root they are ours: the one that is the same file. Empty if that is gone.
std::string PathFromHere(const std::string& proc, const Mapping& file) {
  struct stat info;
  std::string there;
  for (const std::string& path : {proc + "/root" + file.path, file.path}) {
    if (stat(path.c_str(), &info) != 0) continue;
    if (info.st_ino == file.inode) return path;
    // Where file systems lie over each other, numbers may differ.
    if (there.empty() && !file.is_deleted) there = path;
  }
  return there;
}

absl::string_view FileName(absl::string_view path) { return path.substr(path.rfind('/') + 1); }

bool IsLibc(absl::string_view path) {
  const absl::string_view name = FileName(path);
  return name == "libc.so.6" || (absl::StartsWith(name, "libc-2.") && absl::EndsWith(name, ".so"));
}

// Those of ours hand calls on; the dynamic linker of an old glibc has a malloc for
// the time before libc's.
bool ServesNobody(absl::string_view path) {
  const absl::string_view name = FileName(path);
  return absl::StartsWith(name, "ld-") || name == "libheaptape.so" || name == "libheaptape-probe.so";
}

// What `environ` of the process, which setenv changes, holds now.
std::optional<std::vector<std::string>> ReadEnviron(int pid, const ElfFile& program, uint64_t program_base,
                                                    const std::string& libc_path, uint64_t libc_base) {
  uint64_t address = 0;
  // A program that names the variable has it; libc's own is unused then.
  const auto look = [&address](const ElfFile& elf, uint64_t base) {
    for (const char* name : {"environ", "__environ"}) {
      const std::optional<uint64_t> value = elf.Symbol(name);
      if (value.has_value() && address == 0) address = elf.has_fixed_address() ? *value : base + *value;
    }
  };
  look(program, program_base);
  if (address == 0) {
    const absl::StatusOr<ElfFile> libc = ElfFile::Open(libc_path);
    if (libc.ok()) look(*libc, libc_base);
  }
  uint64_t entries = 0;
  if (address == 0 || !ReadMemory(pid, address, &entries, sizeof(entries)).ok()) return std::nullopt;
  std::vector<std::string> variables;
  constexpr int kMost = 10000;
  for (int i = 0; i < kMost && entries != 0; ++i, entries += sizeof(uint64_t)) {
    uint64_t entry = 0;
    if (!ReadMemory(pid, entries, &entry, sizeof(entry)).ok()) return std::nullopt;
    if (entry == 0) break;
    const std::string text = ReadString(pid, entry);
    if (IsSettingVariable(text)) variables.push_back(text);
  }
  return variables;
}

bool IsSecure(const std::string& auxv) {
  for (size_t at = 0; at + sizeof(Elf64_auxv_t) <= auxv.size(); at += sizeof(Elf64_auxv_t)) {
    Elf64_auxv_t entry;
    memcpy(&entry, auxv.data() + at, sizeof(entry));
    if (entry.a_type == AT_SECURE) return entry.a_un.a_val != 0;
  }
  return false;
}

}  // namespace

bool IsSettingVariable(const std::string& entry) {
  return absl::StartsWith(entry, "GLIBC_TUNABLES=") || absl::StartsWith(entry, "MALLOC_");
}

std::vector<std::string> SettingVariables(const std::string& environ) {
  std::vector<std::string> variables;
  bool in_tunables = false;
  for (const std::string& entry : std::vector<std::string>(absl::StrSplit(environ, '\0', absl::SkipEmpty()))) {
    const std::string name = entry.substr(0, entry.find('='));
    if (in_tunables && absl::StrContains(name, ".")) {
      absl::StrAppend(&variables.back(), ":", entry);
      continue;
    }
    in_tunables = name == "GLIBC_TUNABLES";
    if (IsSettingVariable(entry)) variables.push_back(entry);
  }
  return variables;
}

absl::StatusOr<ProcessFacts> ReadProcess(int pid, LoadedLibc* libc) {
  const std::string proc = absl::StrCat("/proc/", pid);
  const std::vector<std::string> stat = StatFields(ReadText(proc + "/stat"));
  // A zombie has nothing left to look at.
  if (stat.empty() || stat[0] == "Z" || stat[0] == "X") {
    return absl::NotFoundError(absl::StrCat("there is no process ", pid));
  }
  ProcessFacts facts;
  facts.pid = pid;
  facts.parent_pid = static_cast<int>(NumberAt(stat, 1));
  facts.command = absl::StrJoin(
      absl::StrSplit(ReadText(proc + "/cmdline"), '\0', absl::SkipEmpty()), " ");
  std::error_code error;
  facts.program = std::filesystem::read_symlink(proc + "/exe", error).string();
  if (error) {
    facts.program = std::string(absl::StripSuffix(ReadText(proc + "/comm"), "\n"));
    facts.is_refused = error == std::errc::permission_denied;
    facts.unreadable = facts.is_refused
                           ? absl::StrCat("process ", pid, " is another user's; run this as root, or as that user")
                           : absl::StrCat("process ", pid, " has no program of its own: a kernel thread, or it just ended");
    return facts;
  }
  facts.environment = SettingVariables(ReadText(proc + "/environ"));
  facts.is_secure = IsSecure(ReadText(proc + "/auxv"));

  const absl::StatusOr<ElfFile> program = ElfFile::Open(proc + "/exe");
  if (!program.ok()) {
    facts.unreadable = std::string(program.status().message());
    return facts;
  }
  if (!program->is_64_bit()) {
    facts.c_library = CLibrary::k32Bit;
    return facts;
  }
  const std::vector<Mapping> files = MappedFiles(ReadText(proc + "/maps"));
  uint64_t program_base = 0;
  for (const Mapping& file : files) {
    if (file.path == facts.program) program_base = file.start;
    if (!IsLibc(file.path)) continue;
    facts.c_library = CLibrary::kGlibc;
    facts.c_library_path = file.path;
    libc->path = PathFromHere(proc, file);
    libc->base = file.start;
  }
  if (facts.c_library != CLibrary::kGlibc) {
    facts.c_library_path = program->interpreter();
    if (program->interpreter().empty()) {
      facts.c_library = CLibrary::kStatic;
    } else if (!absl::StrContains(program->interpreter(), "/ld-linux")) {
      facts.c_library = CLibrary::kOther;
    } else {
      facts.unreadable = files.empty() ? absl::StrCat("the mappings of process ", pid, " may not be read; run this as root")
                                       : absl::StrCat("process ", pid, " has not loaded its libc.so.6 yet");
    }
    return facts;
  }
  for (const Mapping& file : files) {
    if (IsLibc(file.path) || ServesNobody(file.path)) continue;
    const absl::StatusOr<ElfFile> object = ElfFile::Open(file.path == facts.program ? proc + "/exe" : PathFromHere(proc, file));
    if (!object.ok() || !object->Symbol("malloc").has_value() || !object->Symbol("free").has_value()) continue;
    facts.allocator = file.path;
    break;
  }
  facts.later_environment = ReadEnviron(pid, *program, program_base, libc->path, libc->base);
  return facts;
}

absl::StatusOr<MallocParameters> ReadParameters(int pid, uint64_t libc_base, const MallocLayout& layout) {
  MallocParameters parameters = {};
  for (uint32_t i = 0; i < kMallocParameters; ++i) {
    if (layout.offsets[i] == 0) continue;
    // Little-endian: a narrow one fills the low half.
    const absl::Status read = ReadMemory(pid, libc_base + layout.offsets[i], &parameters.values[i], IsNarrow(i) ? 4 : 8);
    if (!read.ok()) return read;
  }
  return parameters;
}

std::vector<int> Descendants(int pid) {
  std::map<int, std::vector<int>> children;
  std::error_code error;
  for (std::filesystem::directory_iterator it("/proc", error), end; !error && it != end; it.increment(error)) {
    int child = 0;
    if (!absl::SimpleAtoi(it->path().filename().string(), &child)) continue;
    const std::vector<std::string> stat = StatFields(ReadText(it->path().string() + "/stat"));
    if (!stat.empty() && stat[0] != "Z") children[static_cast<int>(NumberAt(stat, 1))].push_back(child);
  }
  std::vector<int> found = {pid};
  for (size_t i = 0; i < found.size(); ++i) {
    std::vector<int>& next = children[found[i]];
    std::sort(next.begin(), next.end());
    found.insert(found.end(), next.begin(), next.end());
    next.clear();
  }
  found.erase(found.begin());
  return found;
}

}  // namespace heaptape
