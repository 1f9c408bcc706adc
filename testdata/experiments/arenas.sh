#!/usr/bin/env bash
# One symptom, two causes, two knobs.
source "$(dirname "$0")/experiment.sh" "$@"

requests=$(size 70 28)
declare -A settings=([default]="" [arenas]="--arena-max=1" [threshold]="--mmap-threshold=64K"
  [both]="--arena-max=1 --mmap-threshold=64K")
for case in objects buffers pool; do
  record $case $case "$requests"
  for key in "${!settings[@]}"; do replay $case.$key $case ${settings[$key]}; done
done

end() { figure "$1" .end.system_bytes; }
# Small objects on a pool: arenas alone.
claim "$(end objects.arenas) < 0.25 * $(end objects.default)"
claim "$(end objects.threshold) == $(end objects.default)"
# Large buffers on one thread: the threshold alone.
claim "$(end buffers.threshold) < 0.02 * $(end buffers.default)"
claim "$(end buffers.arenas) == $(end buffers.default)"
# Large buffers on a pool: the cap looks like a cure, until the threshold is tried.
claim "$(end pool.arenas) < 0.25 * $(end pool.default)"
claim "$(end pool.threshold) < 0.1 * $(end pool.arenas)"
claim "$(end pool.both) <= $(end pool.threshold)"

row() {
  local line="| $1 |"
  for case in objects buffers pool; do
    line+=" $(mb $case."$2" .peak.system_bytes) | $(mb $case."$2" .end.system_bytes) |"
  done
  echo "$line"
}
write_page <<END_OF_PAGE
# Arenas against threshold

Two bugs show the same symptom: a process that holds many times what it uses, after its load has gone. Each has a knob of its own. Three
programs ([arenas.c](arenas.c)), $requests requests one after another: *objects*, many small objects, each request on the next of 7
threads; *buffers*, a dozen buffers of 0.2 to 6 MB, on the main thread; *pool*, the same buffers on the threads. Each request leaves 200
bytes. System MB, one recording of each, replayed:

| settings | objects, peak | end | buffers, peak | end | pool, peak | end |
|---|--:|--:|--:|--:|--:|--:|
$(row "default" default)
$(row "\`--arena-max=1\`" arenas)
$(row "\`--mmap-threshold=64K\`" threshold)
$(row "both" both)

**Expected.** Advice for both is mixed freely: \`MALLOC_ARENA_MAX\` for pools of threads
([amule-org/amule#1095](https://github.com/amule-org/amule/pull/1095)), a fixed threshold for large buffers; and one account that the cap
is a win only as long as the threshold is not fixed ([chojs23/concord#319](https://github.com/chojs23/concord/pull/319)).

**What came out.** *Objects* are an affair of arenas alone: each thread's arena keeps what its largest request needed,
$(mb objects.default .end.system_bytes) MB, one arena $(mb objects.arenas .end.system_bytes); the threshold changes not a byte, since no object reaches it. *Buffers* are an affair of the
threshold alone: $(mb buffers.default .end.system_bytes) MB against $(mb buffers.threshold .end.system_bytes); arenas change not a byte, since there is one thread. In *pool* both knobs
seem to help, but the arenas were only full because the buffers were in them: with the threshold fixed
$(mb pool.threshold .end.system_bytes) MB are left, with the cap alone $(mb pool.arenas .end.system_bytes).

**Why they differ.** They do not contradict each other: who tries the cap first on *pool* stops there, $(awk "BEGIN {printf \"%.0f\", $(end pool.arenas) / $(end pool.threshold)}") times above what the other knob gives. Which bug
it is can be told before any knob is turned: by the sizes of the blocks, and by how many arenas hold the holes (\`heaptape report\`).
END_OF_PAGE
