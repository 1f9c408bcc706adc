// What the probe in a program and `heaptape verify` tell each other: by files in a
// session directory.
//
// Freestanding. The directory, 0700, is named by HEAPTAPE_VERIFY. It holds `request`,
// written before anything starts, and a `PID.N` for each program image with the
// library in it, N counting the images that one process has been. Lives for one
// run of one build: no version.

#ifndef HEAPTAPE_VERIFIER_PROBE_REPORT_H_
#define HEAPTAPE_VERIFIER_PROBE_REPORT_H_

#include <stdint.h>

#include "replayer/plan/instruction.h"
#include "verifier/malloc_layout.h"

namespace heaptape {

inline constexpr char kVerifyVariable[] = "HEAPTAPE_VERIFY";

struct ProbeRequest {
  // Where parameters lie in the libc.so.6 of that device and inode; elsewhere they
  // are not looked for.
  uint64_t device, inode;
  MallocLayout layout;
  // What is expected. The environment of an image, where it says something, is
  // what is tried in that image.
  ProbeSlot probes[kProbedSettings];
};

struct ProbeReport {
  uint32_t written;  // 1, the last thing to be stored before the program's own code runs
  int32_t pid;
  int32_t parent_pid;
  int32_t child_pid;  // of the child in which settings were tried out
  uint64_t begin_ns;  // CLOCK_MONOTONIC
  uint32_t is_glibc;  // that serves malloc
  uint32_t probed;    // `probes` and `at_start` are answered
  uint32_t parameters_known;
  uint32_t mallopt_calls;
  int32_t last_parameter, last_value;  // of the last of them
  uint32_t environment_bytes, later_environment_bytes;
  uint32_t ended;  // of its own accord: `later_environment` holds
  ProbeSlot probes[kProbedSettings];
  MallocParameters at_start;
  MallocParameters now;  // as of the last call of mallopt, or the program's end
  char program[256];
  char command[256];    // its beginning, each argument with its end
  char allocator[256];  // the object that serves malloc
  char libc[256];
  char glibc_version[32];
  // GLIBC_TUNABLES and MALLOC_*: as NAME=VALUE, each with its end.
  char environment[4096];
  char later_environment[4096];  // at its end
};

}  // namespace heaptape

#endif  // HEAPTAPE_VERIFIER_PROBE_REPORT_H_
