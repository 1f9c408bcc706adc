#include "recorder/interposer/next.h"

#include <elf.h>
#include <link.h>
#include <stdint.h>

#include "recorder/raw/text.h"

namespace heaptape {

NextAllocator next;

namespace {

extern "C" __attribute__((visibility("hidden"))) const char __ehdr_start;

// Holds its own address once the dynamic linker has been here.
const void* const volatile relocated = const_cast<const void*>(static_cast<const volatile void*>(&relocated));

const char* next_path = "";

// The dynamic symbols of one loaded object.
class SymbolTable {
 public:
  explicit SymbolTable(const link_map* object) : base_(object->l_addr) {
    for (const ElfW(Dyn)* entry = object->l_ld; entry->d_tag != DT_NULL; ++entry) {
      // glibc has turned these into addresses; the vDSO's are still offsets.
      const uintptr_t address = entry->d_un.d_ptr < base_ ? base_ + entry->d_un.d_ptr : entry->d_un.d_ptr;
      if (entry->d_tag == DT_SYMTAB) symbols_ = reinterpret_cast<const ElfW(Sym)*>(address);
      if (entry->d_tag == DT_STRTAB) names_ = reinterpret_cast<const char*>(address);
      if (entry->d_tag == DT_GNU_HASH) hash_ = reinterpret_cast<const uint32_t*>(address);
      if (entry->d_tag == DT_VERSYM) versions_ = reinterpret_cast<const uint16_t*>(address);
    }
  }

  // Address of a defined function in its default version, or null.
  void* Find(const char* name) const {
    if (symbols_ == nullptr || names_ == nullptr || hash_ == nullptr) return nullptr;
    uint32_t wanted = 5381;
    for (const char* c = name; *c != '\0'; ++c) wanted = wanted * 33 + static_cast<unsigned char>(*c);
    const uint32_t bucket_count = hash_[0], first_symbol = hash_[1], bloom_words = hash_[2];
    const uint32_t* const buckets = hash_ + 4 + bloom_words * 2;
    const uint32_t* const chain = buckets + bucket_count;
    if (bucket_count == 0) return nullptr;
    uint32_t index = buckets[wanted % bucket_count];
    if (index < first_symbol) return nullptr;
    for (;; ++index) {
      const uint32_t hash = chain[index - first_symbol];
      const ElfW(Sym)& symbol = symbols_[index];
      const bool hidden = versions_ != nullptr && (versions_[index] & 0x8000) != 0;
      if ((hash | 1) == (wanted | 1) && !hidden && symbol.st_shndx != SHN_UNDEF && symbol.st_value != 0 &&
          raw::Equal(names_ + symbol.st_name, name)) {
        if (ELF64_ST_TYPE(symbol.st_info) != STT_FUNC) return nullptr;
        return reinterpret_cast<void*>(base_ + symbol.st_value);
      }
      if ((hash & 1) != 0) return nullptr;
    }
  }

 private:
  const uintptr_t base_;
  const ElfW(Sym)* symbols_ = nullptr;
  const char* names_ = nullptr;
  const uint32_t* hash_ = nullptr;
  const uint16_t* versions_ = nullptr;
};

// First definition of `name` in the objects from `object` on.
void* FindFrom(const link_map* object, const char* name, const link_map** provider = nullptr) {
  for (; object != nullptr; object = object->l_next) {
    if (void* const found = SymbolTable(object).Find(name)) {
      if (provider != nullptr) *provider = object;
      return found;
    }
  }
  return nullptr;
}

bool IsLibc(const char* path) {
  const char* base = path;
  for (const char* c = path; *c != '\0'; ++c) {
    if (*c == '/') base = c + 1;
  }
  return raw::HasPrefix(base, "libc.so") || raw::HasPrefix(base, "libc-");
}

template <typename Function>
void Set(Function* entry, void* address) {
  *entry = reinterpret_cast<Function>(address);
}

}  // namespace

bool FindNextAllocator(NextAllocator* found) {
  const void* here;
  asm("lea %1, %0" : "=r"(here) : "m"(relocated));
  if (relocated != here) return false;

  const auto own_base = reinterpret_cast<uintptr_t>(&__ehdr_start);
  const link_map* object = _r_debug.r_map;
  while (object != nullptr && object->l_addr != own_base) object = object->l_next;
  if (object == nullptr) return false;
  object = object->l_next;

  const link_map* provider = nullptr;
  void* const malloc_found = FindFrom(object, "malloc", &provider);
  if (malloc_found == nullptr) return false;
  Set(&found->free, FindFrom(object, "free"));
  Set(&found->calloc, FindFrom(object, "calloc"));
  Set(&found->realloc, FindFrom(object, "realloc"));
  Set(&found->memalign, FindFrom(object, "memalign"));
  Set(&found->aligned_alloc, FindFrom(object, "aligned_alloc"));
  Set(&found->posix_memalign, FindFrom(object, "posix_memalign"));
  Set(&found->valloc, FindFrom(object, "valloc"));
  Set(&found->pvalloc, FindFrom(object, "pvalloc"));
  Set(&found->malloc_usable_size, FindFrom(object, "malloc_usable_size"));
  Set(&found->mallopt, FindFrom(object, "mallopt"));
  Set(&found->malloc_trim, FindFrom(object, "malloc_trim"));
  Set(&found->free_sized, FindFrom(object, "free_sized"));
  Set(&found->free_aligned_sized, FindFrom(object, "free_aligned_sized"));
  if (!IsLibc(provider->l_name)) next_path = provider->l_name;
  Set(&found->malloc, malloc_found);
  return true;
}

void SetNextAllocator(const NextAllocator& found) {
  NextAllocator rest = found;
  rest.malloc = nullptr;
  next = rest;
  __atomic_store_n(&next.malloc, found.malloc, __ATOMIC_RELEASE);
}

const char* NextAllocatorPath() { return next_path; }

}  // namespace heaptape
