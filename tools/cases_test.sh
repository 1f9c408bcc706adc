#!/bin/bash
# Verdicts on programs that stand for what people have reported: each is recorded for
# real and named by its mechanism.
set -u
source tools/command_check.sh "$1"
cases=${HEAPTAPE_SHARED:-}/cases
if [[ ! -f $cases/patterns.c ]]; then
  echo "skipped: HEAPTAPE_SHARED does not name a directory with cases/patterns.c"
  exit 0
fi
gcc -O1 -fno-builtin-malloc -fno-builtin-free -pthread -w "$cases/patterns.c" -o patterns || exit 1

# verdict CASE MECHANISM SETTINGS...: the report is left in `out`.
verdict() {
  local case=$1 mechanism=$2
  shift 2
  [[ -f $case.heaptape ]] || "$heaptape" record -o "$case.heaptape" -- ./patterns "$case" >/dev/null 2>&1
  check 0 "" report "$case.heaptape" --format=json "$@"
  local got
  got=$(jq -r .verdict.mechanism out)
  echo "$case $*: $got: $(jq -r .verdict.paragraph out)"
  [[ $got == "$mechanism" ]] || {
    echo "$case $*: $got, not $mechanism"
    failures=$((failures + 1))
  }
}

verdict leak leak
verdict frames 'moving mmap threshold'
verdict lifo 'thread cache'
verdict fifo healthy
verdict medium healthy
verdict medium over-tuned --mmap-threshold=2048
verdict comb 'scattered survivors'
jq -e '.holes.pin_count >= 1550 and .holes.pin_count <= 1575 and
       .holes.trimmable_bytes >= 92000000 and .holes.trimmable_bytes <= 94000000' out >/dev/null || {
  echo "comb: $(jq -c '.holes | [.pin_count, .trimmable_bytes]' out)"
  failures=$((failures + 1))
}
# Before the program's own malloc_trim, trimming gives back what was estimated.
check 0 "" holes comb.heaptape --at=198439 --format=json
jq -e '.trim.returned_bytes > 0.99 * .trimmable_bytes and .trim.returned_bytes <= .trimmable_bytes' out >/dev/null || {
  echo "comb: trimming: $(jq -c .trim out)"
  failures=$((failures + 1))
}
verdict reqpool 'arena per thread'
exit $((failures > 0))
