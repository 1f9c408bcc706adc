#!/bin/bash
# sweep as a person meets it, under the real engine.
set -u
source tools/command_check.sh "$1"
faulty=$(realpath "$OLDPWD/$2")

expect_that() {
  jq -e "$1" out >/dev/null || {
    echo "not so: $1: $(head -c 3000 out)"
    failures=$((failures + 1))
  }
}
expect_line() {
  grep -qE -e "$1" out || {
    echo "no line '$1' in: $(cat out)"
    failures=$((failures + 1))
  }
}

# Twenty large blocks at a time, and a small one behind each that stays.
for ((i = 0; i < 600; ++i)); do
  printf '1: malloc 0x%x %d\n' $((0x10000000 + i * 0x1000000)) $((200000 + i * 7919 % 1800000))
  printf '1: malloc 0x%x 1000\n' $((0x10f00000 + i * 0x1000000))
  ((i >= 20)) && printf '1: free 0x%x\n' $((0x10000000 + (i - 20) * 0x1000000))
done >calls.txt
check 0 "" import --from=android calls.txt -o t.heaptape

# Settings that there are not are wrong usage, before anything is replayed.
check 2 "heaptape: sweep: --grid: no tunable glibc.malloc.mmap_treshold; did you mean glibc.malloc.mmap_threshold\? .*" \
  sweep t.heaptape --grid=mmap_treshold=64K
check 2 "heaptape: sweep: --grid: glibc.malloc.mxfast=1048576 is out of range: .*" sweep t.heaptape --grid=mxfast=1M
check 2 "heaptape: sweep: --grid: no allocator tbbmalloc; known are .*" sweep t.heaptape --grid=allocator=tbbmalloc
check 2 "heaptape: sweep: --grid: \"1..2\": a range ends in .*" sweep t.heaptape --grid=arena_max=1..2
check 2 "heaptape: sweep: --jobs: .*" sweep t.heaptape --jobs=0
check 1 "heaptape: none.heaptape: .*" sweep none.heaptape

grid=(--grid='mmap_threshold=64K..1M*4' --grid='arena_max=1 mmap_threshold=default,64K' --grid=trim=end)
check 0 "" sweep t.heaptape "${grid[@]}" --format=json
expect_that '.rows | length == 8'
expect_that '[.rows[] | select(.failure != null)] == []'
expect_that '.rows | map(.held_bytes) | . == sort'
expect_that '.recommended.name == "mmap_threshold=64K"'
expect_that '.recommended.environment == "GLIBC_TUNABLES=glibc.malloc.mmap_threshold=65536"'
expect_that '.recommended.freeze | contains("it is the freeze that helps")'
expect_that '.recommended.changes.end.resident_bytes < -1000000 and .recommended.changes.minor_faults > 0'
expect_that '(.rows[] | select(.name == "as recorded") | .changes.end.system_bytes) == 0'
expect_that '.alternatives | map(.lever) | sort == ["arena_max", "malloc_trim", "trim_threshold"]'
[[ ! -e t.heaptape.sweep ]] || { echo "a sweep that is done leaves its journal"; failures=$((failures + 1)); }

# Another number of jobs, and the other formats, say the same.
jq -S 'del(.. | .replay_seconds?, .allocator_seconds?)' out >two.json
check 0 "" sweep t.heaptape "${grid[@]}" --format=json --jobs=1
jq -S 'del(.. | .replay_seconds?, .allocator_seconds?)' out | diff two.json - || failures=$((failures + 1))
check 0 "" sweep t.heaptape "${grid[@]}" --format=csv
[[ $(head -1 out) == name,settings.allocator,settings.tunables,settings.trim_at_end,failure,digest,peak.requested_bytes,* ]] &&
  [[ $(wc -l <out) == 9 ]] && [[ $(awk -F, '{ print NF }' out | sort -u | wc -l) == 1 ]] ||
  { echo "csv: $(cat out)"; failures=$((failures + 1)); }
for format in text markdown; do
  check 0 "" sweep t.heaptape "${grid[@]}" --format=$format
  expect_line 'Recommended: mmap.*threshold=64K'
  expect_line '^ *Environment="GLIBC_TUNABLES=glibc.malloc.mmap_threshold=65536"$'
  expect_line '^ *export GLIBC_TUNABLES=glibc.malloc.mmap_threshold=65536$'
  expect_line '^ *libc.mallopt\(-3, 65536\)  # M_MMAP_THRESHOLD$'
done

# An allocator that crashes, or hangs, costs its row.
for size in 4343 4242; do
  { cat calls.txt; printf '1: malloc 0x999 %d\n' $size; } >faulty.txt
  check 0 "" import --from=android faulty.txt -o faulty.heaptape
  check 0 "" sweep faulty.heaptape --grid="allocator=$faulty arena_max=1,default" --grid=arena_max=1 --patience=2 --format=json
  expect_that '[.rows[] | select(.failure != null) | .settings.allocator] | length == 1 and (.[0] | endswith("libfaulty_malloc.so"))'
  expect_that '.rows | length == 4'
  rm -f faulty.heaptape
done

# A sweep that is killed goes on where it was: rows that were done are not done again.
"$heaptape" sweep t.heaptape --jobs=1 --format=json >/dev/null &
sweep=$!
for ((i = 0; i < 600; ++i)); do
  [[ -e t.heaptape.sweep && $(wc -l <t.heaptape.sweep) -ge 5 ]] && break
  sleep 0.05
done
kill -9 $sweep
wait $sweep 2>/dev/null
known=$(($(wc -l <t.heaptape.sweep) - 1))
[[ $known -ge 4 ]] || { echo "the journal of a killed sweep has $known rows"; failures=$((failures + 1)); }
# The mark of a row that was not replayed again: a figure that no replay gives.
sed -i '4s/"minor_faults":[0-9]*/"minor_faults":123456789/' t.heaptape.sweep
check 0 "" sweep t.heaptape --jobs=1 --format=json
expect_that '[.rows[] | select(.minor_faults == 123456789)] | length == 1'
[[ ! -e t.heaptape.sweep ]] || { echo "the journal is still there"; failures=$((failures + 1)); }

# Where no journal can be written the sweep goes on without.
mkdir t.heaptape.sweep
check 0 "heaptape: warning: t.heaptape.sweep: Is a directory: if this sweep is ended, the next begins anew" \
  sweep t.heaptape --grid=arena_max=1
exit $((failures > 0))
