#include "replayer/engine/call_sites.h"

#include <cpuid.h>
#include <dlfcn.h>
#include <link.h>
#include <stddef.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>

#include "replayer/engine/own_pages.h"
#include "replayer/engine/raw_syscall.h"

// Read by heaptape_rewritten_call.
extern "C" {
__attribute__((visibility("hidden"))) long (*heaptape_make_call)(long, const long*);
__attribute__((visibility("hidden"))) uint32_t heaptape_vector_mask;
__attribute__((visibility("hidden"))) uint64_t heaptape_vector_bytes;
void heaptape_rewritten_call();
}

// The number is in eax, the arguments are where the kernel takes them. What is
// pushed last comes first in `arguments`. Our own code uses vector registers,
// and so do libc's functions that it calls; xsave writes 576 bytes that are
// always there (the last 64 must be zero beforehand) and then those of the
// processor's extensions.
asm(R"(
  .text
  .hidden heaptape_rewritten_call
  .globl heaptape_rewritten_call
  .type heaptape_rewritten_call, @function
heaptape_rewritten_call:
  pushfq
  cld
  push %rbp
  push %r9
  push %r8
  push %r10
  push %rdx
  push %rsi
  push %rdi
  mov %rsp, %rbp
  mov %eax, %edi
  mov %rsp, %rsi
  sub heaptape_vector_bytes(%rip), %rsp
  and $-64, %rsp
  xor %eax, %eax
  mov %rax, 512(%rsp)
  mov %rax, 520(%rsp)
  mov %rax, 528(%rsp)
  mov %rax, 536(%rsp)
  mov %rax, 544(%rsp)
  mov %rax, 552(%rsp)
  mov %rax, 560(%rsp)
  mov %rax, 568(%rsp)
  xor %edx, %edx
  mov heaptape_vector_mask(%rip), %eax
  xsave64 (%rsp)
  call *heaptape_make_call(%rip)
  mov %rax, %rcx
  xor %edx, %edx
  mov heaptape_vector_mask(%rip), %eax
  xrstor64 (%rsp)
  mov %rcx, %rax
  mov %rbp, %rsp
  pop %rdi
  pop %rsi
  pop %rdx
  pop %r10
  pop %r8
  pop %r9
  pop %rbp
  popfq
  ret
  .size heaptape_rewritten_call, . - heaptape_rewritten_call
)");

namespace heaptape {

namespace {

// libc's functions and the calls that they make. Their syscall instruction
// stands within so many bytes of their beginning.
struct Function {
  long number;
  const char* name;
  uint64_t address;
};
Function g_functions[] = {
    {SYS_mmap, "mmap", 0},         {SYS_munmap, "munmap", 0},   {SYS_mremap, "mremap", 0},
    {SYS_mprotect, "mprotect", 0}, {SYS_madvise, "madvise", 0}, {SYS_brk, "brk", 0},
};
constexpr uint64_t kFunctionBytes = 128;

constexpr uint64_t kMovBytes = 5;
constexpr uint64_t kSyscallBytes = 2;
constexpr uint64_t kCacheLine = 64;

// A stub, and in the page behind it what it reads.
struct [[gnu::packed]] Stub {
  uint8_t skip_red_zone[5] = {0x48, 0x8d, 0x64, 0x24, 0x80};  // lea -128(%rsp),%rsp
  uint8_t load_number[2] = {0x8b, 0x05};                      // mov number(%rip),%eax
  int32_t to_number;
  uint8_t call[2] = {0xff, 0x15};  // call *function(%rip)
  int32_t to_function;
  uint8_t skip_back[8] = {0x48, 0x8d, 0xa4, 0x24, 0x80, 0, 0, 0};  // lea 128(%rsp),%rsp
  uint8_t jump[2] = {0xff, 0x25};                                  // jmp *back(%rip)
  int32_t to_back;
  uint8_t unused = 0xcc;
};
struct Target {
  uint64_t number;
  uint64_t function;
  uint64_t back;
  uint64_t unused;
};
static_assert(sizeof(Stub) == 32 && sizeof(Target) == 32);

constexpr uint32_t kStubs = kPageBytes / sizeof(Stub);

// How far above the highest object stubs lie, and how far at least below the
// stack as it is now: the kernel keeps 128 MiB, or more if stacks may grow
// larger.
constexpr uint64_t kAboveObjects = 1 << 20;
constexpr uint64_t kBelowStack = 64 << 20;

Stub* g_stubs;
Target* g_targets;
uint32_t g_count;

bool Failed(long result) { return result < 0 && result > -4096; }

// The extensions whose registers code like ours may use: SSE, AVX, AVX-512.
// Zero if there is no xsave.
constexpr uint32_t kVectorState = 0xe6;

bool FindVectorState() {
  constexpr uint32_t kOsUsesXsave = 1 << 27;
  uint32_t a, b, c, d;
  if (__get_cpuid(1, &a, &b, &c, &d) == 0 || (c & kOsUsesXsave) == 0) return false;
  asm volatile("xgetbv" : "=a"(a), "=d"(d) : "c"(0));
  heaptape_vector_mask = a & kVectorState;
  heaptape_vector_bytes = 512 + 64;
  for (uint32_t part = 2; part < 8; ++part) {
    if ((heaptape_vector_mask >> part & 1) == 0) continue;
    uint32_t bytes, offset;
    if (__get_cpuid_count(0xd, part, &bytes, &offset, &c, &d) == 0) return false;
    if (offset + bytes > heaptape_vector_bytes) heaptape_vector_bytes = offset + bytes;
  }
  return true;
}

// Ends of loaded objects below the stack.
int FindHighest(struct dl_phdr_info* object, size_t, void* argument) {
  uint64_t& highest = *(uint64_t*)argument;
  for (int i = 0; i < object->dlpi_phnum; ++i) {
    const ElfW(Phdr)& segment = object->dlpi_phdr[i];
    const uint64_t end = object->dlpi_addr + segment.p_vaddr + segment.p_memsz;
    if (segment.p_type == PT_LOAD && end > highest && end < (uint64_t)&object) highest = end;
  }
  return 0;
}

// A place for two pages, or 0.
uint64_t FindPlace() {
  uint64_t highest = 0;
  dl_iterate_phdr(FindHighest, &highest);
  // Where stacks have no limit, the kernel searches upwards, and this is no
  // place.
  const long next =
      RawSyscall(SYS_mmap, nullptr, kPageBytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (Failed(next)) return 0;
  RawSyscall(SYS_munmap, next, kPageBytes);
  if ((uint64_t)next > highest) return 0;
  const uint64_t place = (highest + kAboveObjects) & ~(kPageBytes - 1);
  return place + kBelowStack < (uint64_t)&highest ? place : 0;
}

// Stubs are written once, before any of them is used, and are then never
// writable.
bool MakeStubs() {
  const uint64_t place = FindPlace();
  if (place == 0) return false;
  const long at = RawSyscall(SYS_mmap, place, 2 * kPageBytes, PROT_READ | PROT_WRITE,
                             MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, -1, 0);
  if (Failed(at)) return false;
  if ((uint64_t)at == place) {
    g_stubs = (Stub*)place;
    g_targets = (Target*)(place + kPageBytes);
    PrepareOwn(g_stubs, 2 * kPageBytes);
    const auto distance = [](const void* behind, const uint64_t* to) {
      return (int32_t)((uint64_t)to - (uint64_t)behind);
    };
    for (uint32_t i = 0; i < kStubs; ++i) {
      Stub stub;
      stub.to_number = distance(&g_stubs[i].call, &g_targets[i].number);
      stub.to_function = distance(&g_stubs[i].skip_back, &g_targets[i].function);
      stub.to_back = distance(&g_stubs[i].unused, &g_targets[i].back);
      g_stubs[i] = stub;
    }
    if (RawSyscall(SYS_mprotect, at, kPageBytes, PROT_READ | PROT_EXEC) == 0) return true;
  }
  RawSyscall(SYS_munmap, at, 2 * kPageBytes);
  return false;
}

bool IsLibcs(long number, uint64_t back) {
  for (const Function& function : g_functions) {
    if (function.number == number) {
      return function.address != 0 && back >= function.address + kMovBytes + kSyscallBytes &&
             back <= function.address + kFunctionBytes;
    }
  }
  return false;
}

}  // namespace

bool CallSites::Init(long (*make)(long number, const long arguments[6])) {
  if (!FindVectorState()) return false;
  void* libc = dlopen("libc.so.6", RTLD_LAZY | RTLD_NOLOAD);
  if (libc == nullptr) return false;
  for (Function& function : g_functions) {
    function.address = (uint64_t)dlsym(libc, function.name);
  }
  heaptape_make_call = make;
  return MakeStubs();
}

bool CallSites::Rewrite(long number, uint64_t back) {
  if (g_count == kStubs || !IsLibcs(number, back)) return false;
  const uint64_t site = back - kSyscallBytes - kMovBytes;
  const uint32_t number_bytes = number;
  uint8_t expected[kMovBytes + kSyscallBytes] = {0xb8};  // mov $number,%eax
  memcpy(expected + 1, &number_bytes, sizeof(number_bytes));
  expected[5] = 0x0f;  // syscall
  expected[6] = 0x05;
  if (memcmp((const void*)site, expected, sizeof(expected)) != 0) return false;

  // One store, so that a thread of the allocator's own finds the old
  // instruction or the new: that needs eight bytes in one cache line.
  uint64_t word = site;
  if (site / kCacheLine != (site + 7) / kCacheLine) word = (site | (kCacheLine - 1)) - 7;
  if (word + 8 < site + kMovBytes) return false;

  Stub* stub = &g_stubs[g_count];
  const int64_t jump = (int64_t)((uint64_t)stub - (site + kMovBytes));
  if (jump != (int32_t)jump) return false;

  uint8_t bytes[8];
  memcpy(bytes, (const void*)word, sizeof(bytes));
  const int32_t distance = jump;
  bytes[site - word] = 0xe9;  // jmp
  memcpy(bytes + (site - word) + 1, &distance, sizeof(distance));
  uint64_t value;
  memcpy(&value, bytes, sizeof(value));

  void* page = (void*)(word & ~(kPageBytes - 1));
  if (RawSyscall(SYS_mprotect, page, kPageBytes, PROT_READ | PROT_WRITE | PROT_EXEC) != 0) {
    return false;
  }
  g_targets[g_count] = {(uint64_t)number, (uint64_t)&heaptape_rewritten_call, back, 0};
  ++g_count;
  PrepareOwn(page, kPageBytes);
  __atomic_store_n((uint64_t*)word, value, __ATOMIC_RELEASE);
  RawSyscall(SYS_mprotect, page, kPageBytes, PROT_READ | PROT_EXEC);
  return true;
}

uint32_t CallSites::count() { return g_count; }

bool CallSites::OnMainStack(uint64_t stack_pointer) { return stack_pointer > (uint64_t)g_stubs; }

}  // namespace heaptape
