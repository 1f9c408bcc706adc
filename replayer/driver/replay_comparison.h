// CompareReplays: are two replays of one trace under one setting the same?
//
// Mainland; a function without state. Everything that the allocator decides must
// agree: the digest, each figure, each region, each block. Times do not count,
// nor do resident bytes and page faults, in which the kernel has a say.

#ifndef HEAPTAPE_REPLAYER_DRIVER_REPLAY_COMPARISON_H_
#define HEAPTAPE_REPLAYER_DRIVER_REPLAY_COMPARISON_H_

#include "absl/status/status.h"
#include "replayer/driver/replay_result.h"

namespace heaptape {

// Aborted, naming the first difference with both values.
absl::Status CompareReplays(const ReplayResult& a, const ReplayResult& b);

}  // namespace heaptape

#endif  // HEAPTAPE_REPLAYER_DRIVER_REPLAY_COMPARISON_H_
