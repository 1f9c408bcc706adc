// Contents: keeps glibc from moving bytes that nobody will read.
//
// Island; glibc alone. A replay that writes nothing into blocks need not have
// realloc copy them, nor calloc clear them, which for large blocks is most of the
// time and all of the page faults. glibc calls its own memcpy and memset through
// slots of its global offset table that were filled by IRELATIVE relocations (the
// choice among versions for different processors). They are made to lead through
// here, where calls for a page or more return at once while they are not wanted.
// Smaller ones are let through: glibc clears its thread caches that way.

#ifndef HEAPTAPE_REPLAYER_ENGINE_CONTENTS_H_
#define HEAPTAPE_REPLAYER_ENGINE_CONTENTS_H_

namespace heaptape {

// Redirects the slots of libc. False, and nothing changed, if they cannot be found.
bool RedirectContents();

// Whether copying and clearing is left out. Only while an allocation runs whose
// block's contents nobody reads.
extern bool contents_unread;

}  // namespace heaptape

#endif  // HEAPTAPE_REPLAYER_ENGINE_CONTENTS_H_
