// Joining a session, or finding that there is none.
//
// Island.

#ifndef HEAPTAPE_RECORDER_INTERPOSER_ATTACH_H_
#define HEAPTAPE_RECORDER_INTERPOSER_ATTACH_H_

namespace heaptape {

// The first call of the program: finds the allocator behind us and, if the
// environment names a session, starts to record into it. False while the dynamic
// linker is not ready; then nothing has happened. After true, `next` and `gate`
// are usable for good.
bool Attach();

}  // namespace heaptape

#endif  // HEAPTAPE_RECORDER_INTERPOSER_ATTACH_H_
