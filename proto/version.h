// The version of this build: what `heaptape --version` prints and, behind
// "heaptape ", what Header.recorder says. The trace format has its own number,
// kTraceVersion in trace_reader.h.

#ifndef HEAPTAPE_PROTO_VERSION_H_
#define HEAPTAPE_PROTO_VERSION_H_

namespace heaptape {

inline constexpr char kHeaptapeVersion[] = "0.1";

}  // namespace heaptape

#endif  // HEAPTAPE_PROTO_VERSION_H_
