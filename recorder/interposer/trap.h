// Stopping the program at one call, for a debugger that is attached to it.
//
// Island. Only recordings with a trap come here.

#ifndef HEAPTAPE_RECORDER_INTERPOSER_TRAP_H_
#define HEAPTAPE_RECORDER_INTERPOSER_TRAP_H_

#include <stdint.h>

#include "recorder/wire/session.h"

namespace heaptape {

// Raises SIGTRAP in this thread if `word` (with `payload`) logs the call that
// `config` names. By number, calls are counted as they come; that is the number
// of the event as long as the calls come in the same order again.
void CheckTrap(const wire::SessionConfig& config, uint64_t word, uint64_t payload);

}  // namespace heaptape

#endif  // HEAPTAPE_RECORDER_INTERPOSER_TRAP_H_
