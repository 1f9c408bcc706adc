// Learning that a thread ends, as late as can be.
//
// Island. A pthread key whose destructor puts itself off to the last round, so
// that what other destructors free still counts as the thread's. glibc allocates
// for keys from the 33rd on; then we do without.

#ifndef HEAPTAPE_RECORDER_INTERPOSER_THREAD_EXIT_H_
#define HEAPTAPE_RECORDER_INTERPOSER_THREAD_EXIT_H_

namespace heaptape {

// Once, when libc is ready. Watches the calling thread too.
void OpenThreadExit();
// Has EndThread called when this thread ends. Does nothing before OpenThreadExit.
void WatchThreadExit();

}  // namespace heaptape

#endif  // HEAPTAPE_RECORDER_INTERPOSER_THREAD_EXIT_H_
