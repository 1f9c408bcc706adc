#include "replayer/engine/contents.h"

#include <gnu/libc-version.h>
#include <link.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>

#include "replayer/engine/own_pages.h"
#include "replayer/engine/raw_syscall.h"

namespace heaptape {

bool contents_unread = false;

namespace {

constexpr size_t kLeastLeftOut = kPageBytes;

using Copy = void* (*)(void* to, const void* from, size_t bytes);
using Set = void* (*)(void* to, int byte, size_t bytes);

Copy g_copy;
Set g_set;

void* CopyIfRead(void* to, const void* from, size_t bytes) {
  if (contents_unread && bytes >= kLeastLeftOut) return to;
  return g_copy(to, from, bytes);
}

void* SetIfRead(void* to, int byte, size_t bytes) {
  if (contents_unread && bytes >= kLeastLeftOut) return to;
  return g_set(to, byte, bytes);
}

// What the search needs of libc's dynamic section.
struct Libc {
  uint64_t base;
  const ElfW(Sym) * symbols;
  const char* names;
  const ElfW(Rela) * relocations;  // of its procedure linkage table
  uint64_t relocation_bytes;
};

int FindLibc(struct dl_phdr_info* object, size_t, void* argument) {
  const uint64_t code = (uint64_t)&gnu_get_libc_version;
  const ElfW(Dyn)* dynamic = nullptr;
  bool contains = false;
  for (int i = 0; i < object->dlpi_phnum; ++i) {
    const ElfW(Phdr)& segment = object->dlpi_phdr[i];
    const uint64_t lo = object->dlpi_addr + segment.p_vaddr;
    if (segment.p_type == PT_DYNAMIC) dynamic = (const ElfW(Dyn)*)lo;
    if (segment.p_type == PT_LOAD && code >= lo && code < lo + segment.p_memsz) contains = true;
  }
  if (!contains || dynamic == nullptr) return 0;
  Libc& libc = *(Libc*)argument;
  libc.base = object->dlpi_addr;
  for (; dynamic->d_tag != DT_NULL; ++dynamic) {
    const uint64_t value = dynamic->d_un.d_ptr;  // relocated by ld.so
    if (dynamic->d_tag == DT_SYMTAB) libc.symbols = (const ElfW(Sym)*)value;
    if (dynamic->d_tag == DT_STRTAB) libc.names = (const char*)value;
    if (dynamic->d_tag == DT_JMPREL) libc.relocations = (const ElfW(Rela)*)value;
    if (dynamic->d_tag == DT_PLTRELSZ) libc.relocation_bytes = value;
  }
  return 1;
}

// The functions that choose the versions of memcpy and memset: their addresses
// are what IRELATIVE relocations name. memcpy has two, for old programs and new.
struct Choosers {
  uint64_t copy[4];
  uint64_t set[4];
  int copies, sets;
};

Choosers FindChoosers(const Libc& libc) {
  Choosers choosers = {};
  // The string table stands right behind the symbol table, as linkers have it.
  const ElfW(Sym)* end = (const ElfW(Sym)*)((uint64_t)libc.names & ~uint64_t{7});
  for (const ElfW(Sym)* symbol = libc.symbols; symbol + 1 <= end; ++symbol) {
    if (ELF64_ST_TYPE(symbol->st_info) != STT_GNU_IFUNC) continue;
    const char* name = libc.names + symbol->st_name;
    if (strcmp(name, "memcpy") == 0 && choosers.copies < 4) {
      choosers.copy[choosers.copies++] = symbol->st_value;
    } else if (strcmp(name, "memset") == 0 && choosers.sets < 4) {
      choosers.set[choosers.sets++] = symbol->st_value;
    }
  }
  return choosers;
}

bool IsOneOf(uint64_t value, const uint64_t* values, int count) {
  for (int i = 0; i < count; ++i) {
    if (values[i] == value) return true;
  }
  return false;
}

// Points a slot at `function`, unless it cannot be written. REQUIRES: whoever comes
// through `function` can go on to what the slot pointed at.
void Point(uint64_t slot, void* function) {
  const uint64_t page = slot & ~(kPageBytes - 1);
  if (RawSyscall(SYS_mprotect, page, kPageBytes, PROT_READ | PROT_WRITE) != 0) return;
  *(void**)slot = function;
}

}  // namespace

bool RedirectContents() {
  Libc libc = {};
  dl_iterate_phdr(FindLibc, &libc);
  if (libc.symbols == nullptr || libc.names == nullptr || libc.relocations == nullptr) return false;
  const Choosers choosers = FindChoosers(libc);
  const uint64_t count = libc.relocation_bytes / sizeof(*libc.relocations);
  for (uint64_t i = 0; i < count; ++i) {
    const ElfW(Rela)& relocation = libc.relocations[i];
    if (ELF64_R_TYPE(relocation.r_info) != R_X86_64_IRELATIVE) continue;
    const uint64_t slot = libc.base + relocation.r_offset;
    if (IsOneOf(relocation.r_addend, choosers.copy, choosers.copies)) {
      g_copy = *(Copy*)slot;
      Point(slot, (void*)&CopyIfRead);
    } else if (IsOneOf(relocation.r_addend, choosers.set, choosers.sets)) {
      g_set = *(Set*)slot;
      Point(slot, (void*)&SetIfRead);
    }
  }
  return g_copy != nullptr && g_set != nullptr;
}

}  // namespace heaptape
