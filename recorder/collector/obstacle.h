// Why a program cannot be recorded, told from its file.
//
// Mainland.

#ifndef HEAPTAPE_RECORDER_COLLECTOR_OBSTACLE_H_
#define HEAPTAPE_RECORDER_COLLECTOR_OBSTACLE_H_

#include <string>

namespace heaptape {

// What keeps `command` (a path, or a name to be found in PATH) from loading our
// library, as the end of a sentence: "it is statically linked". Empty if nothing
// is seen. Of a script, what keeps its interpreter.
std::string FindObstacle(const std::string& command);

}  // namespace heaptape

#endif  // HEAPTAPE_RECORDER_COLLECTOR_OBSTACLE_H_
