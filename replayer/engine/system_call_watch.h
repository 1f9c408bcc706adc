// SystemCallWatch: delivers the allocator's system calls to the engine.
//
// Island. Syscall user dispatch (Linux 5.11) turns a thread's system calls into
// SIGSYS while a byte in memory says so, save those made from one range of
// addresses, which here is raw_syscall.h's. The handler performs the call itself,
// so the allocator notices nothing, and shows memory calls to the log. Nothing is
// added to an allocation that makes none. A memory call from one of libc's stubs is
// delivered by a signal once only: the stub is then rewritten (call_sites.h).
//
// One call that is none for memory is answered here too: glibc reads
// /proc/sys/vm/overcommit_memory before it first shrinks a heap, and is told what it
// said on the recorded machine.
//
// The byte is on throughout the replay. The handler, or what stands for it, runs on the stack of whoever
// called, with any FS base, so it uses no thread-local variable, and signals stay
// unblocked so that SIGSYS can always be delivered: a thread that ends asks to
// block them all, and is told that it has been done.

#ifndef HEAPTAPE_REPLAYER_ENGINE_SYSTEM_CALL_WATCH_H_
#define HEAPTAPE_REPLAYER_ENGINE_SYSTEM_CALL_WATCH_H_

#include <stdint.h>

#include "replayer/engine/system_call_log.h"

namespace heaptape {

// Installs the handler and watches the calling thread. `seen` is called after each
// memory call, inside the handler, with whether the log's table has changed. Call
// sites are left as they are if `rewrite` is false. `overcommit`, 0 to 2, is what the
// allocator is to read. False if the kernel cannot do it.
bool StartWatch(SystemCallLog* log, void (*seen)(bool changed), bool rewrite, uint32_t overcommit);

// Watches another thread, the caller, if StartWatch succeeded.
void WatchThisThread();

// Whether system calls of watched threads are delivered or just happen. Off
// until switched on. Also switched off by the handler when it meets a call that
// cannot be made from a handler (clone); On is then needed again.
void SetWatch(bool on);

}  // namespace heaptape

#endif  // HEAPTAPE_REPLAYER_ENGINE_SYSTEM_CALL_WATCH_H_
