// Events as lines to read: `17 t0 malloc(100) = 0x5581c0`.
//
// Mainland. Thread-safe.

#ifndef HEAPTAPE_PROTO_EVENT_TEXT_H_
#define HEAPTAPE_PROTO_EVENT_TEXT_H_

#include <cstdint>
#include <string>

#include "proto/event.h"

namespace heaptape {

// Appends one line with its end: number, thread and call, as the C program
// would have written it. calloc shows the product of its arguments, because
// that is what a trace keeps.
void AppendEventText(uint64_t number, const Event& event, std::string* out);

}  // namespace heaptape

#endif  // HEAPTAPE_PROTO_EVENT_TEXT_H_
