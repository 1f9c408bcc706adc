// heaptape-witness: where does this glibc keep what its malloc goes by?
//
//   heaptape-witness                    under kWitnessSettings: prints "NAME OFFSET" lines
//   heaptape-witness OFFSET...          under any settings: prints "NAME VALUE" lines
//
// Island: libc alone, and of that nothing newer than 2.2.5, without the usual
// start files: it must run under the libc.so.6 of any process that is looked at, by
// way of that libc's own dynamic linker. The first form looks for the settings'
// values in libc's data; a field is found if its value is there once. Fields that
// no setting fills are told by what a large block changes.

#include <gnu/libc-version.h>
#include <link.h>
#include <stdlib.h>

#include "recorder/raw/syscall.h"
#include "recorder/raw/text.h"
#include "verifier/malloc_layout.h"

namespace heaptape {
namespace {

constexpr uint64_t kLargeBlock = 48 << 20;  // beyond the greatest mmap_threshold

struct Libc {
  uint64_t base;
  uint64_t data;  // its writable segment
  uint64_t data_end;
};

int FindLibc(dl_phdr_info* object, size_t, void* argument) {
  Libc* const libc = static_cast<Libc*>(argument);
  const uint64_t code = reinterpret_cast<uint64_t>(&gnu_get_libc_version);
  bool contains = false;
  for (int i = 0; i < object->dlpi_phnum; ++i) {
    const ElfW(Phdr)& segment = object->dlpi_phdr[i];
    if (segment.p_type != PT_LOAD) continue;
    const uint64_t lo = object->dlpi_addr + segment.p_vaddr;
    if (code >= lo && code < lo + segment.p_memsz) contains = true;
    if ((segment.p_flags & PF_W) == 0) continue;
    libc->data = (lo + 7) & ~uint64_t{7};
    libc->data_end = lo + segment.p_memsz;
  }
  libc->base = object->dlpi_addr;
  return contains;
}

class Witness {
 public:
  explicit Witness(const Libc& libc) : libc_(libc) {}

  void FindSettings() {
    for (const WitnessSetting& setting : kWitnessSettings) {
      // Too small to be told from other numbers; its neighbour is not.
      if (setting.parameter == kTcacheCount) continue;
      const uint64_t step = IsNarrow(setting.parameter) ? 4 : 8;
      uint64_t found = 0, times = 0;
      for (uint64_t at = libc_.data; at + step <= libc_.data_end; at += step) {
        if (Read(setting.parameter, at) != setting.value) continue;
        if (setting.parameter == kTcacheMax && Read(kTcacheCount, at + 8) != ValueOf(kTcacheCount)) continue;
        found = at;
        ++times;
      }
      if (times == 1) Set(setting.parameter, found);
    }
    if (layout_.offsets[kTcacheMax] != 0) Set(kTcacheCount, At(kTcacheMax) + 8);
  }

  // In all versions int n_mmaps, n_mmaps_max, max_n_mmaps, no_dyn_threshold follow
  // each other; a block that comes and goes shows whether they do.
  void FindCounts(const char* small_block) {
    if (layout_.offsets[kMmapMax] == 0) return;
    const uint64_t max = At(kMmapMax);
    const uint64_t now = max - 4, most = max + 4, fixed = max + 8;
    const bool none = Narrow(now) == 0 && Narrow(most) == 0;
    void* const volatile block = malloc(kLargeBlock);
    const bool one = Narrow(now) == 1 && Narrow(most) == 1;
    free(block);
    if (!none || !one || Narrow(now) != 0 || Narrow(most) != 1 || Narrow(fixed) != 1) return;
    Set(kMmappedBlocks, now);
    Set(kMostMmappedBlocks, most);
    Set(kThresholdIsFixed, fixed);
    const uint64_t page = reinterpret_cast<uint64_t>(small_block) & ~uint64_t{4095};
    for (uint64_t at = (fixed + 11) & ~uint64_t{7}; at < fixed + 64; at += 8) {
      if ((*reinterpret_cast<const uint64_t*>(at) & ~uint64_t{4095}) != page) continue;
      Set(kHeapStart, at);
      return;
    }
  }

  void TakeLayout(char** offsets) {
    for (uint32_t i = 0; i < kMallocParameters && offsets[i] != nullptr; ++i) {
      for (const char* digit = offsets[i]; *digit >= '0' && *digit <= '9'; ++digit) {
        layout_.offsets[i] = 10 * layout_.offsets[i] + static_cast<uint64_t>(*digit - '0');
      }
      const uint64_t at = libc_.base + layout_.offsets[i];
      if (at < libc_.data || at + 8 > libc_.data_end) layout_.offsets[i] = 0;
    }
  }

  uint64_t offset(uint32_t parameter) const { return layout_.offsets[parameter]; }
  uint64_t Value(uint32_t parameter) const { return Read(parameter, At(parameter)); }

 private:
  static uint64_t ValueOf(MallocParameter parameter) {
    for (const WitnessSetting& setting : kWitnessSettings) {
      if (setting.parameter == parameter) return setting.value;
    }
    return 0;
  }
  static uint64_t Narrow(uint64_t at) { return *reinterpret_cast<const volatile uint32_t*>(at); }
  static uint64_t Read(uint32_t parameter, uint64_t at) {
    return IsNarrow(parameter) ? Narrow(at) : *reinterpret_cast<const volatile uint64_t*>(at);
  }
  uint64_t At(uint32_t parameter) const { return libc_.base + layout_.offsets[parameter]; }
  void Set(uint32_t parameter, uint64_t at) { layout_.offsets[parameter] = at - libc_.base; }

  const Libc libc_;
  MallocLayout layout_ = {};
};

int Main(char** arguments) {
  Libc libc = {};
  if (dl_iterate_phdr(FindLibc, &libc) == 0) return 1;
  // The first call reads the settings.
  char* const volatile block = static_cast<char*>(malloc(16));
  Witness witness(libc);
  const bool finds = arguments[0] == nullptr;
  if (finds) {
    witness.FindSettings();
    witness.FindCounts(block);
  } else {
    witness.TakeLayout(arguments);
  }
  raw::Text<1024> text;
  text.Add("version ").Add(gnu_get_libc_version()).Add("\n");
  for (uint32_t i = 0; i < kMallocParameters; ++i) {
    if (witness.offset(i) == 0) continue;
    text.Add(kMallocParameterNames[i]).Add(" ").AddNumber(finds ? witness.offset(i) : witness.Value(i)).Add("\n");
  }
  raw::Write(1, text.c_str(), text.size());
  return 0;
}

}  // namespace

extern "C" [[noreturn, gnu::used]] void StartWitness(long* stack) {
  // argc, argv[0], argv[1] ...
  const int status = Main(reinterpret_cast<char**>(stack + 2));
  for (;;) raw::Syscall(SYS_exit_group, status);
}

// The dynamic linker has made libc ready by now; crt1.o would tie the program to
// the glibc that it was built with.
asm(".globl _start\n"
    "_start:\n"
    "  xor %ebp, %ebp\n"
    "  mov %rsp, %rdi\n"
    "  and $-16, %rsp\n"
    "  call StartWitness\n");

}  // namespace heaptape
