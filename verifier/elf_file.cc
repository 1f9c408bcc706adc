#include "verifier/elf_file.h"

#include <elf.h>
#include <string.h>

#include <fstream>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"

namespace heaptape {
namespace {

// The others of a large program are not kept.
constexpr const char* kKept[] = {"malloc", "free", "environ", "__environ"};

constexpr uint64_t kMostBytes = 256 << 20;  // of a symbol table

class Reader {
 public:
  explicit Reader(const std::string& path) : file_(path, std::ios::binary) {}

  template <typename T>
  bool Read(uint64_t offset, T* value) {
    file_.clear();
    file_.seekg(static_cast<std::streamoff>(offset));
    return static_cast<bool>(file_.read(reinterpret_cast<char*>(value), sizeof(T)));
  }
  bool ReadString(uint64_t offset, uint64_t bytes, std::string* text) {
    if (bytes > kMostBytes) return false;
    text->resize(bytes);
    file_.clear();
    file_.seekg(static_cast<std::streamoff>(offset));
    return static_cast<bool>(file_.read(text->data(), static_cast<std::streamsize>(bytes)));
  }

 private:
  std::ifstream file_;
};

}  // namespace

absl::StatusOr<ElfFile> ElfFile::Open(const std::string& path) {
  Reader reader(path);
  Elf64_Ehdr header;
  unsigned char identity[EI_NIDENT];
  if (!reader.Read(0, &identity) || memcmp(identity, ELFMAG, SELFMAG) != 0) {
    return absl::InvalidArgumentError(absl::StrCat(path, ": no ELF file"));
  }
  ElfFile elf;
  elf.is_64_bit_ = identity[EI_CLASS] == ELFCLASS64;
  if (!elf.is_64_bit_) return elf;
  const absl::Status damaged = absl::InvalidArgumentError(absl::StrCat(path, ": a damaged ELF file"));
  if (!reader.Read(0, &header)) return damaged;
  elf.has_fixed_address_ = header.e_type == ET_EXEC;
  for (uint64_t i = 0; i < header.e_phnum; ++i) {
    Elf64_Phdr segment;
    if (!reader.Read(header.e_phoff + i * sizeof(segment), &segment)) return damaged;
    if (segment.p_type != PT_INTERP) continue;
    if (segment.p_filesz > 4096 || !reader.ReadString(segment.p_offset, segment.p_filesz, &elf.interpreter_)) {
      return damaged;
    }
    elf.interpreter_.resize(strnlen(elf.interpreter_.data(), elf.interpreter_.size()));
  }
  for (uint64_t i = 0; i < header.e_shnum; ++i) {
    Elf64_Shdr section, names_section;
    if (!reader.Read(header.e_shoff + i * sizeof(section), &section)) return damaged;
    if (section.sh_type != SHT_DYNSYM) continue;
    std::string names, symbols;
    if (!reader.Read(header.e_shoff + section.sh_link * sizeof(section), &names_section) ||
        !reader.ReadString(names_section.sh_offset, names_section.sh_size, &names) ||
        !reader.ReadString(section.sh_offset, section.sh_size, &symbols)) {
      return damaged;
    }
    for (uint64_t at = 0; at + sizeof(Elf64_Sym) <= symbols.size(); at += sizeof(Elf64_Sym)) {
      Elf64_Sym symbol;
      memcpy(&symbol, symbols.data() + at, sizeof(symbol));
      if (symbol.st_shndx == SHN_UNDEF || symbol.st_name >= names.size()) continue;
      const char* const name = names.c_str() + symbol.st_name;
      for (const char* kept : kKept) {
        if (strcmp(name, kept) == 0) elf.symbols_[kept] = symbol.st_value;
      }
    }
  }
  return elf;
}

std::optional<uint64_t> ElfFile::Symbol(const std::string& name) const {
  const auto found = symbols_.find(name);
  if (found == symbols_.end()) return std::nullopt;
  return found->second;
}

}  // namespace heaptape
