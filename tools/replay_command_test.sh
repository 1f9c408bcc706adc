#!/bin/bash
# replay and holes as a person meets them, under the real engine.
set -u
source tools/command_check.sh "$1"

printf '7: malloc 0x1000 100\n' >in.txt
check 0 "" import --from=android in.txt -o t.heaptape

# Wrong settings are wrong usage.
check 2 "heaptape: replay: no tunable glibc.malloc.mmap_treshold; did you mean glibc.malloc.mmap_threshold\? .*" \
  replay t.heaptape --tunable=glibc.malloc.mmap_treshold=65536
check 2 "heaptape: replay: --mmap-threshold: \"64Q\" is not a size: .*" replay t.heaptape --mmap-threshold=64Q
check 2 "heaptape: replay: glibc.malloc.tcache_count=4294967296 is out of range: .*" replay t.heaptape --tcache-count=4G
check 2 "heaptape: holes: --at: .*" holes t.heaptape --at=noon

# Two replays agree, and every total adds up.
for ((i = 0; i < 2000; ++i)); do
  printf '1: malloc 0x%x %d\n' $((0x10000000 + i * 65536)) $((i * 7 % 60000))
  ((i % 3 == 0)) && printf '2: free 0x%x\n' $((0x10000000 + i / 2 * 65536))
done >in3.txt
check 0 "" import --from=android in3.txt -o r.heaptape
check 0 "" replay r.heaptape --check --format=json --mmap-threshold=32K
jq -e '.digest and .checked and .settings.tunables["glibc.malloc.mmap_threshold"] == 32768 and
       .end.system_bytes == .end.usable_bytes + .end.overhead_bytes + .end.hole_bytes' out >/dev/null ||
  { echo "replay: $(cat out)"; failures=$((failures + 1)); }
digest=$(jq -r .digest out)
check 0 "" replay r.heaptape --tunable=glibc.malloc.mmap_threshold=32K --touch=pages
grep -qx "digest     $digest" out || { echo "another digest than $digest: $(cat out)"; failures=$((failures + 1)); }
for at in end peak 1000; do
  check 0 "" holes r.heaptape --at=$at --top=3 --format=json
  jq -e '.system_bytes == .usable_bytes + .overhead_bytes + .hole_bytes and (.holes | length) <= 3 and
         .hole_bytes == ([.histogram[].bytes] | add) and .hole_count == ([.histogram[].count] | add)' out >/dev/null ||
    { echo "holes --at=$at: $(cat out)"; failures=$((failures + 1)); }
done
[[ $(jq .at_event out) == 1000 ]] || { echo "holes stopped at $(jq .at_event out)"; failures=$((failures + 1)); }

exit $((failures > 0))
