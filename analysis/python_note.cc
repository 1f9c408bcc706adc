#include "analysis/python_note.h"

#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "absl/strings/strip.h"

namespace heaptape {
namespace {

// The N of CPython 3.N, if an object of that name is one (/usr/bin/python3.11,
// libpython3.11.so.1.0); 0 if it does not say; -1 if it is none.
int MinorVersion(absl::string_view path) {
  absl::string_view name = path.substr(path.rfind('/') + 1);
  absl::ConsumePrefix(&name, "lib");
  if (!absl::ConsumePrefix(&name, "python3")) return -1;
  if (!absl::ConsumePrefix(&name, ".")) return name.empty() ? 0 : -1;
  size_t digits = 0;
  while (digits < name.size() && name[digits] >= '0' && name[digits] <= '9') ++digits;
  int minor = 0;
  const absl::string_view rest = name.substr(digits);
  const bool is_python = rest.empty() || absl::StartsWith(rest, ".so") || rest == "m" || rest == "d";
  return is_python && absl::SimpleAtoi(name.substr(0, digits), &minor) ? minor : -1;
}

}  // namespace

std::string PythonNote(const Header& header) {
  for (const std::string& variable : header.environment()) {
    if (variable == "PYTHONMALLOC=malloc" || variable == "PYTHONMALLOC=malloc_debug") return "";
  }
  int minor = MinorVersion(header.executable());
  for (const MappedObject& object : header.objects()) {
    if (minor < 0) minor = MinorVersion(object.path());
  }
  if (minor < 0) return "";
  const char* const arenas = minor == 0 ? "" : minor < 10 ? " of 256 KiB" : " of 1 MiB";
  return absl::StrCat(
      "CPython serves blocks of up to 512 bytes by itself, from arenas", arenas,
      " that it has from mmap and not from malloc: these blocks, and the holes between them, are not in the recording; "
      "with PYTHONMALLOC=malloc in the program's environment they are, and a program that is all objects takes half as "
      "long again");
}

}  // namespace heaptape
