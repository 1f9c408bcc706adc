// The spools of this program: where segments come from.
//
// Island. Lock-free: any thread, any signal handler, any number at once. May
// make system calls and may wait for the collector, never without a bound.

#ifndef HEAPTAPE_RECORDER_INTERPOSER_SPOOLS_H_
#define HEAPTAPE_RECORDER_INTERPOSER_SPOOLS_H_

#include "recorder/wire/session.h"

namespace heaptape {

// Before the first call below. `directory` is this program's in the session,
// and must stay; `config` is copied. Mappings that were inherited from a parent
// are given up.
void OpenSpools(const char* directory, const wire::SessionConfig& config);

// Adds a spool. False if there is no room for it.
bool AddSpool(wire::Control* control);

// A segment in state kTaken with only zero words, or null: the call at hand is
// to be dropped (and counted by the caller).
wire::Segment* TakeSegment(wire::Control* control);

// Hands a segment to the collector: no word from index `limit` on is written.
void FillSegment(wire::Segment* segment, uint32_t limit);

}  // namespace heaptape

#endif  // HEAPTAPE_RECORDER_INTERPOSER_SPOOLS_H_
