#include "recorder/collector/identity.h"

#include <elf.h>
#include <google/protobuf/stubs/common.h>
#include <link.h>
#include <string.h>
#include <sys/utsname.h>
#include <unistd.h>

#include <algorithm>
#include <fstream>
#include <limits>
#include <string>
#include <vector>

#include "absl/strings/ascii.h"
#include "absl/strings/escaping.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"
#include "proto/trace_reader.h"
#include "recorder/collector/proc_text.h"

namespace heaptape {
namespace {

constexpr char kCgroups[] = "/sys/fs/cgroup";

std::string ReadLine(const std::string& path) {
  return std::string(absl::StripAsciiWhitespace(ReadText(path)));
}

// Linux strings are bytes, protobuf's are text: what is not text is escaped.
std::string Text(absl::string_view bytes) {
  const bool valid = google::protobuf::internal::IsStructurallyValidUTF8(bytes.data(), static_cast<int>(bytes.size()));
  return valid ? std::string(bytes) : absl::CHexEscape(bytes);
}

// Hex of the NT_GNU_BUILD_ID note of a 64-bit ELF file, or "". The file need not
// be what it was when the program mapped it, so nothing in it is trusted.
std::string BuildId(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  ElfW(Ehdr) header;
  if (!file.read(reinterpret_cast<char*>(&header), sizeof header)) return "";
  if (memcmp(header.e_ident, ELFMAG, SELFMAG) != 0 || header.e_ident[EI_CLASS] != ELFCLASS64) return "";
  for (int i = 0; i < std::min<int>(header.e_phnum, 64); ++i) {
    ElfW(Phdr) segment;
    file.seekg(static_cast<std::streamoff>(header.e_phoff + static_cast<uint64_t>(i) * sizeof segment));
    if (!file.read(reinterpret_cast<char*>(&segment), sizeof segment)) return "";
    if (segment.p_type != PT_NOTE || segment.p_filesz > (64 << 10)) continue;
    std::string notes(segment.p_filesz, 0);
    file.seekg(static_cast<std::streamoff>(segment.p_offset));
    if (!file.read(notes.data(), static_cast<std::streamsize>(notes.size()))) return "";
    for (size_t at = 0; at + sizeof(ElfW(Nhdr)) <= notes.size();) {
      ElfW(Nhdr) note;
      memcpy(&note, notes.data() + at, sizeof note);
      const size_t name = at + sizeof note;
      const size_t content = name + (size_t{note.n_namesz} + 3) / 4 * 4;
      const size_t end = content + (size_t{note.n_descsz} + 3) / 4 * 4;
      if (end > notes.size() || end <= at) break;
      if (note.n_type == NT_GNU_BUILD_ID && note.n_namesz == 4 && memcmp(notes.data() + name, "GNU", 4) == 0) {
        return absl::BytesToHexString(notes.substr(content, note.n_descsz));
      }
      at = end;
    }
  }
  return "";
}

// CPUs in a list such as "0-3,8".
uint32_t CountCpus(const std::string& list) {
  uint32_t count = 0;
  for (absl::string_view range : absl::StrSplit(list, ',')) {
    const std::vector<std::string> ends = absl::StrSplit(range, '-');
    uint32_t first = 0, last = 0;
    if (!absl::SimpleAtoi(ends.front(), &first) || !absl::SimpleAtoi(ends.back(), &last) || last < first) continue;
    count += last - first + 1;
  }
  return count;
}

void AddObjects(const std::string& maps, Header* header) {
  std::string last;
  for (absl::string_view line : absl::StrSplit(maps, '\n')) {
    const size_t path_at = line.find('/');
    if (path_at == absl::string_view::npos) continue;
    const std::string path(line.substr(path_at));
    if (path == last || absl::StrContains(path, "/spool.") || absl::EndsWith(path, "/control")) continue;
    last = path;
    MappedObject* const object = header->add_objects();
    object->set_path(Text(path));
    uint64_t base = 0;
    if (absl::SimpleHexAtoi(line.substr(0, line.find('-')), &base)) object->set_base(base);
    object->set_build_id(BuildId(path));
    if (absl::StrContains(path, "/libc.so.6") || absl::StrContains(path, "/libc-2.")) {
      header->set_glibc_build_id(object->build_id());
    }
  }
}

void AddLimits(const std::string& limits, Header* header) {
  for (absl::string_view line : absl::StrSplit(limits, '\n')) {
    if (!absl::StartsWith(line, "Max ") || line.size() < 68) continue;
    // Columns of fixed width: name 26, soft 21, hard 21, unit.
    const auto value = [&line](size_t at) {
      uint64_t number;
      const bool limited = absl::SimpleAtoi(absl::StripAsciiWhitespace(line.substr(at, 21)), &number);
      return limited ? number : std::numeric_limits<uint64_t>::max();
    };
    Limit* const limit = header->add_limits();
    limit->set_name(std::string(absl::StripAsciiWhitespace(line.substr(0, 26))));
    limit->set_soft(value(26));
    limit->set_hard(value(47));
  }
}

// The memory limit of the process's control group, the tightest on the way up.
uint64_t CgroupLimit(const std::string& cgroup) {
  // Above this, version 1 means that there is none.
  constexpr uint64_t kNoLimit = uint64_t{1} << 62;
  uint64_t limit = kNoLimit;
  for (std::string path = MemoryCgroup(cgroup); absl::StartsWith(path, kCgroups); path.resize(path.rfind('/'))) {
    for (const char* file : {"/memory.max", "/memory.limit_in_bytes"}) {
      uint64_t here = 0;
      if (absl::SimpleAtoi(ReadLine(path + file), &here)) limit = std::min(limit, here);
    }
  }
  return limit == kNoLimit ? 0 : limit;
}

}  // namespace

std::string MemoryCgroup(const std::string& cgroup) {
  for (absl::string_view line : absl::StrSplit(cgroup, '\n')) {
    const std::vector<std::string> fields = absl::StrSplit(line, absl::MaxSplits(':', 2));
    if (fields.size() != 3) continue;
    if (fields[1] == "memory") return absl::StrCat(kCgroups, "/memory", fields[2]);
    if (fields[0] == "0" && ReadLine(absl::StrCat(kCgroups, fields[2], "/memory.current")) != "") {
      return absl::StrCat(kCgroups, fields[2]);
    }
  }
  return "";
}

Header IdentityOf(Image* image) {
  const std::string& directory = image->directory();
  Header header;
  header.set_version(kTraceVersion);
  header.set_recorder("heaptape 0.1");
  header.set_pid(image->pid());
  header.set_start_time_ticks(image->start_time_ticks());
  header.set_wall_time_ns(image->control()->start_wall_ns);
  header.set_page_bytes(static_cast<uint32_t>(sysconf(_SC_PAGESIZE)));
  header.set_pointer_bytes(sizeof(void*));
  header.set_boot_id(ReadLine("/proc/sys/kernel/random/boot_id"));

  const std::string cmdline = ReadText(directory + "/cmdline");
  for (absl::string_view argument : absl::StrSplit(absl::StripSuffix(cmdline, absl::string_view("\0", 1)), '\0')) {
    header.add_command_line(Text(argument));
  }
  const std::string maps = ReadText(directory + "/maps");
  AddObjects(maps, &header);
  // The first mapping is the executable's, unless it is a script's interpreter's.
  if (header.objects_size() > 0) header.set_executable(header.objects(0).path());
  const std::string& executable = header.executable();
  header.set_program(executable.substr(executable.rfind('/') + 1));

  const std::vector<std::string> stat = StatFields(ReadText(directory + "/stat"));
  header.set_parent_pid(static_cast<int32_t>(NumberAt(stat, 1)));

  for (absl::string_view entry : absl::StrSplit(ReadText(directory + "/environ"), '\0')) {
    if (absl::StartsWith(entry, "GLIBC_TUNABLES=") || absl::StartsWith(entry, "MALLOC_") ||
        absl::StartsWith(entry, "LD_PRELOAD=") || absl::StartsWith(entry, "PYTHONMALLOC=")) {
      header.add_environment(Text(entry));
    }
  }
  AddLimits(ReadText(directory + "/limits"), &header);
  header.set_cgroup_memory_limit_bytes(CgroupLimit(ReadText(directory + "/cgroup")));

  // glibc 2.36 counts the CPUs that are online, whatever the process may use.
  header.set_cpus(CountCpus(ReadLine("/sys/devices/system/cpu/online")));
  const std::string thp = ReadLine("/sys/kernel/mm/transparent_hugepage/enabled");
  const size_t open = thp.find('['), close = thp.find(']');
  if (open != std::string::npos && close != std::string::npos) header.set_thp_mode(thp.substr(open + 1, close - open - 1));
  uint32_t overcommit = 0;
  if (absl::SimpleAtoi(ReadLine("/proc/sys/vm/overcommit_memory"), &overcommit)) header.set_overcommit_memory(overcommit);
  utsname name;
  if (uname(&name) == 0) header.set_kernel(name.release);

  const wire::Control& control = *image->control();
  header.set_glibc_version(std::string(control.glibc_version, strnlen(control.glibc_version, sizeof control.glibc_version)));
  const std::string allocator(control.allocator, strnlen(control.allocator, sizeof control.allocator));
  header.set_allocator(allocator.empty() ? "glibc" : allocator);
  return header;
}

}  // namespace heaptape
