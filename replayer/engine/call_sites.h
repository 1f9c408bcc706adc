// CallSites: libc's memory system calls, made to come to the engine by a jump.
//
// Island. Delivering a system call as a signal costs microseconds: the kernel
// writes a frame with all registers and is entered twice more. So when a signal
// tells that one of libc's stubs has made a call, the stub is rewritten:
//
//       mov $9,%eax              jmp stub ───▶ lea -128(%rsp),%rsp    over the red zone
//       syscall                  syscall       mov number,%eax
//   back:                    back:             call heaptape_rewritten_call
//                              ▲               lea 128(%rsp),%rsp
//                              └────────────── jmp back
//
// Only the mov is replaced. Whoever jumps to the syscall instruction itself still
// finds it and still ends in the handler, and nothing is pushed where the caller
// may keep something. Everything is preserved that a system call preserves: flags,
// vector registers and all others but rax, rcx and r11.
//
// Stubs must be within 2 GiB of libc, and must not be where the kernel would put a
// mapping of the allocator's. They lie between the highest object, under which the
// kernel searches for room, and the main thread's stack.

#ifndef HEAPTAPE_REPLAYER_ENGINE_CALL_SITES_H_
#define HEAPTAPE_REPLAYER_ENGINE_CALL_SITES_H_

#include <stdint.h>

namespace heaptape {

class CallSites {
 public:
  // Prepares to rewrite call sites of libc's, so that they call `make` instead:
  // arguments as the kernel takes them, its result or -errno. `make` is called on the
  // stack and with the FS base of whoever made the call. False if it cannot be done here.
  static bool Init(long (*make)(long number, const long arguments[6]));

  // Rewrites where a call of `number` was made, if it is in libc's function of that
  // name and looks as expected. `back` is the address behind its syscall instruction.
  // May be called from a signal handler. REQUIRES: Init has succeeded.
  static bool Rewrite(long number, uint64_t back);

  // How many have been rewritten.
  static uint32_t count();

  // Whether a stack pointer is in the main thread's stack. REQUIRES: as above.
  static bool OnMainStack(uint64_t stack_pointer);
};

}  // namespace heaptape

#endif  // HEAPTAPE_REPLAYER_ENGINE_CALL_SITES_H_
