#!/bin/bash
# Programs that stand for what people have reported: each is recorded for real, named
# by its mechanism, and given the setting that helps it, or none.
set -u
source tools/command_check.sh "$1"
cases=${HEAPTAPE_SHARED:-}/cases
if [[ ! -f $cases/patterns.c ]]; then
  echo "skipped: HEAPTAPE_SHARED does not name a directory with cases/patterns.c"
  exit 0
fi
flags=(-O1 -fno-builtin-malloc -fno-builtin-free -fno-builtin-realloc -pthread -w)
gcc "${flags[@]}" "$cases/patterns.c" -o patterns && gcc "${flags[@]}" "$cases/manifest.c" -o manifest || exit 1

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

# Peak and end resident MB of a row of the sweep in `out`; what the programs themselves
# say holds some 2 MB that are not the heap's.
row() { jq -r --arg name "$1" '.rows[] | select(.name == $name) | "\(.peak.resident_bytes) \(.end.resident_bytes)"' out; }

# lever CASE SETTING PEAK END SWEEP_ARGUMENTS...: what a sweep recommends, and megabytes
# at most that it comes to.
lever() {
  local case=$1 setting=$2 peak=$3 end=$4 got
  shift 4
  [[ -f $case.heaptape ]] || "$heaptape" record -o "$case.heaptape" -- ./patterns "$case" >/dev/null 2>&1
  check 0 "" sweep "$case.heaptape" --format=json "$@"
  got=$(jq -r '.recommended.name // "nothing"' out)
  echo "$case: $got: $(jq -r .reason out)"
  [[ $got == "$setting" ]] || {
    echo "$case: $got is recommended, not $setting"
    failures=$((failures + 1))
    return
  }
  [[ $setting == nothing ]] && return
  row "$setting" | awk -v peak="$peak" -v end="$end" '{ exit !($1 <= 1e6 * peak && $2 <= 1e6 * end) }' || {
    echo "$case: $setting comes to $(row "$setting"), not $peak and $end MB at most"
    failures=$((failures + 1))
  }
}

because() {
  jq -e --arg text "$1" '.reason | contains($text)' out >/dev/null || {
    echo "not the reason '$1': $(jq -r .reason out)"
    failures=$((failures + 1))
  }
}

lever frames mmap_threshold=128K 226 12
jq -e '[.rows[] | select(.name == "arena_max=1" or .name == "tcache_count=2" or .name == "mxfast=0") | .changes.end.resident_bytes] == [0, 0, 0]' \
  out >/dev/null || { echo "frames: a wrong lever moves something"; failures=$((failures + 1)); }
lever lifo tcache_count=0 102 2.6
lever fifo nothing 0 0
lever leak nothing 0 0
because 'Requested bytes grow with system bytes'
# As long as the program has not trimmed yet, trimming is what is left to say.
lever comb nothing 0 0 --until=198439
because 'malloc_trim(0) at the end would give back 92.8 MB'
lever comb nothing 0 0
lever medium nothing 0 0 --grid=mmap_threshold=2048,128K --grid=arena_max=1
jq -e '.rows[] | select(.name == "mmap_threshold=2K") | .peak_mappings > 30000 and
       (.remarks | any(startswith("peak higher by")) and any(contains("of the kernel" + "\u0027" + "s limit")))' out >/dev/null ||
  { echo "medium: no warning of mappings: $(jq -c '.rows[] | [.name, .peak_mappings, .remarks]' out)"; failures=$((failures + 1)); }
lever frameloop nothing 0 0 --grid='mmap_threshold=64K,128K,32M' --grid=arena_max=1 --grid=tcache_count=0
because 'costs out of proportion: 2,2'
threads=$("$heaptape" cat reqpool.heaptape | awk '/malloc_trim/ { print $1 - 1 }')
lever reqpool arena_max=1 26 26 --until="$threads" --grid=arena_max=1,2,4 --grid=mmap_threshold=64K --grid=top_pad=1M --grid=tcache_count=0
jq -e '.recommended.warnings | any(startswith("17 threads would share 1 arena"))' out >/dev/null ||
  { echo "reqpool: no warning of one arena"; failures=$((failures + 1)); }
"$heaptape" record -o manifest.heaptape -- ./manifest >/dev/null 2>&1
lever manifest mmap_threshold=64K 408 399 --grid=mmap_threshold=64K,32M --grid=arena_max=1 --grid=tcache_count=0
exit $((failures > 0))
