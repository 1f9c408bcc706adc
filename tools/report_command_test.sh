#!/bin/bash
# heaptape report as a person meets it: Markdown for a ticket, JSON, and a page that a
# browser opens, zooms and reads a value from. Also growth, timeline and lifetimes.
set -u
source tools/command_check.sh "$1"

fail() {
  echo "$*"
  failures=$((failures + 1))
}

# Large buffers that come and go, and small blocks that stay among them.
for ((i = 0; i < 3000; ++i)); do
  printf '1: malloc 0x%x %d\n' $((0x100000000 + i * 0x1000000)) $((200000 + i * 7919 % 3000000))
  printf '1: malloc 0x%x %d\n' $((0x100000000 + i * 0x1000000 + 0x800000)) $((i % 40 + 100))
  ((i >= 20)) && printf '1: free 0x%x\n' $((0x100000000 + (i - 20) * 0x1000000))
done >in.txt
check 0 "" import --from=android in.txt -o t.heaptape

check 0 "" report t.heaptape -o t.html
check 0 "" report t.heaptape -o t.md
check 0 "" report t.heaptape -o t.json
check 2 "heaptape: report: -o t.pdf: neither .*" report t.heaptape -o t.pdf
(($(stat -c %s t.html) < 2000000)) || fail "the page is $(stat -c %s t.html) bytes"
(($(stat -c %s t.md) <= 60000)) || fail "the ticket is $(stat -c %s t.md) bytes"
# A page must load nothing, and say the same in each form.
grep -oE '(src|href)="[^"]*"|url\([^)]*\)|@import' t.html && fail "the page refers to something else"
mechanism=$(jq -r .verdict.mechanism t.json)
digest=$(jq -r .replay.digest t.json)
for file in t.html t.md; do
  grep -q "$mechanism" $file && grep -q "$digest" $file || fail "$file: no $mechanism, no $digest"
done
jq -e '.holes.system_bytes == .holes.requested_bytes + .holes.slop_bytes + .holes.mapping_padding_bytes +
         .holes.overhead_bytes + (.holes.classes | .between_blocks_bytes + .top_of_heap_bytes + .arena_tail_bytes) and
       .growth.up_bytes - .growth.down_bytes == .growth.system_bytes and
       .lifetimes.all.count == ([.lifetimes.classes[].count] | add) and
       .lifetimes.all.live_usable_bytes == .holes.usable_bytes' t.json >/dev/null || fail "t.json does not add up"
cp t.html first.html
check 0 "" report t.heaptape -o t.html
cmp -s first.html t.html || fail "two reports differ"

# Each row of a table has as many cells as its heading.
straight() {
  awk -F'|' '/^\|/ { if (!columns) columns = NF; if (NF != columns) bad = 1; next } { columns = 0 } END { exit bad }' \
    <(sed 's/\\|//g' "$1") || fail "a table of $1 is not straight"
}
straight t.md

check 0 "" timeline t.heaptape --format=csv
cp out timeline.csv
head -1 timeline.csv | grep -qx 'event,requested_bytes,usable_bytes,system_bytes,resident_bytes,recorded_resident_bytes' ||
  fail "timeline: $(head -1 timeline.csv)"
check 0 "" timeline t.heaptape
grep -q '# requested' out || fail "no chart: $(cat out)"
check 0 "" lifetimes t.heaptape
grep -q 'outlive peak' out || fail "no lifetimes: $(cat out)"
check 0 "" growth t.heaptape --top=3
grep -q 'how the nearest came about' out || fail "no story: $(cat out)"

check 0 "" holes t.heaptape --format=markdown --no-trim
grep -q '^|--:|' out || fail "no table: $(cat out)"
check 0 "" replay t.heaptape --format=markdown --check
straight out
grep -q "^digest     $digest" out && grep -q '^check  ' out && grep -q '^| system | [0-9]' out && grep -q '| minor faults |' out ||
  fail "replay as Markdown: $(cat out)"
check 0 "" holes t.heaptape --format=pprof
gzip -t <out || fail "the profile is not gzipped"

# A diff of a replay with itself finds nothing; limits decide the exit status.
check 0 "" replay t.heaptape --format=json
cp out a.json
check 0 "" replay t.heaptape --format=json --mmap-threshold=64K
cp out b.json
check 0 "" diff t.heaptape a.json --fail-if 'end.system_bytes>+0' --fail-if 'end.hole_count<+0'
grep -q 'digests agree' out || fail "diff: $(cat out)"
check 0 "" diff a.json b.json --fail-if 'end.system_bytes>+5%'
check 1 "" diff b.json a.json --fail-if 'end.system_bytes>+5%'
grep -q 'over the limit: end.system_bytes>+5%' out || fail "diff: $(cat out)"
check 2 "heaptape: diff: --fail-if: .*" diff a.json b.json --fail-if 'end.system_bytes=5'
check 1 "heaptape: .*no.such.*" diff a.json b.json --fail-if 'no.such>5'

if ! command -v chromium >/dev/null; then
  echo "skipped the browser: chromium is not installed"
  exit $((failures > 0))
fi
dom() {
  HOME=$PWD timeout 100 chromium --headless --no-sandbox --disable-gpu --disable-quic --no-first-run \
    --disable-background-networking --disable-component-update --disable-sync --user-data-dir="$PWD/profile" \
    --virtual-time-budget=5000 --dump-dom "file://$PWD/t.html$1" 2>browser.log
}
# The greatest of column $3 among events $1 to $2.
greatest() { awk -F, -v a="$1" -v b="$2" -v c="$3" 'NR > 1 && $1 >= a && $1 <= b && $c > max { max = $c } END { print max }' timeline.csv; }
for range in 0-8980 2000-3000; do
  dom "#zoom=$range" >page
  grep -q 'data-drawn="yes"' page || fail "the page's script did not finish: $(tail -3 browser.log)"
  readout=$(grep -o '<p class="hint" id="readout"[^>]*>' page)
  want="data-system-max=\"$(greatest "${range%-*}" "${range#*-}" 4)\" data-requested-max=\"$(greatest "${range%-*}" "${range#*-}" 2)\""
  [[ $readout == *"$want"* ]] || fail "zoomed to $range the page says $readout, not $want"
done

exit $((failures > 0))
