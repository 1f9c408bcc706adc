#!/usr/bin/env bash
# The threshold that moves, with a cache of tiles.
source "$(dirname "$0")/experiment.sh" "$@"

rounds=$(size 1000 300)
record trace "$rounds"
record trimming "$rounds" 100
live=.end.requested_bytes
for run in "default trace" "fixed trace --mmap-threshold=64K" "frozen trace --trim-threshold=128K" \
  "arenas trace --arena-max=1" "trimmed trace --trim-at=end" "trimming trimming"; do
  read -r key name settings <<<"$run"
  replay "$key" "$name" --touch=pages $settings
  timeline "$key" "$name" --touch=pages $settings
done

# In MB, averaged over all that was measured.
mean_resident() { awk -F, 'NR > 1 {sum += $5} END {printf "%.1f", sum / (NR - 1) / 1e6}' "$1.csv"; }

needed=$(figure default .peak.requested_bytes)
claim "$(figure default .peak.system_bytes) > 1.2 * $needed"
claim "$(figure default .end.system_bytes) > 1.25 * $(figure default $live)"
claim "$(figure fixed .peak.system_bytes) < 1.02 * $needed"
claim "$(figure fixed .end.system_bytes) < 1.02 * $(figure fixed $live)"
# Any other of the four settings freezes the threshold as well.
claim "$(figure frozen .peak.system_bytes) < 1.02 * $needed"
claim "$(figure arenas .peak.system_bytes) == $(figure default .peak.system_bytes)"
claim "$(figure trimmed .end.system_bytes) > 0.8 * $(figure default .end.system_bytes)"
claim "$(figure trimmed .end.resident_bytes) < 1.05 * $(figure trimmed $live)"
claim "$(figure trimming .peak.resident_bytes) > 0.9 * $(figure default .peak.resident_bytes)"
claim "$(mean_resident trimming) > 0.8 * $(mean_resident default)"
claim "$(figure fixed .minor_faults) > 5 * $(figure default .minor_faults)"

chart "20 tiles of 1 to 5 MB: what the heap holds" \
  "asked for" default requested_bytes "default" default system_bytes \
  "threshold 64 KiB" fixed system_bytes "trim each 100, resident" trimming resident_bytes

row() {
  echo "| $1 | $(mb "$2" .peak.system_bytes) | $(mb "$2" .end.system_bytes) | $(mb "$2" .end.resident_bytes) |" \
    "$(mean_resident "$2") | $(thousands "$2" .minor_faults) |"
}
write_page <<END_OF_PAGE
# The threshold that moves

A cache of 20 tiles of 1 to 5 MB. In each of $rounds rounds one is replaced; of each tile three small records stay
([tiles.c](tiles.c)). At most $(mb default .peak.requested_bytes) MB are asked for at a time, $(mb default $live) MB at the end. One
recording, replayed, one byte in each page written to; and a second one, of the same program calling \`malloc_trim(0)\` every hundred
rounds. In MB:

| settings | system, peak | system, end | resident, end | resident, mean | faults, thousands |
|---|--:|--:|--:|--:|--:|
$(row "default" default)
$(row "\`--mmap-threshold=64K\`" fixed)
$(row "\`--trim-threshold=128K\`, its default" frozen)
$(row "\`--arena-max=1\`" arenas)
$(row "\`--trim-at=end\`" trimmed)
$(row "default, the program trims each 100 rounds" trimming)

![system bytes over calls](tiles.svg)

**Expected.** By default the process climbs, though the cache does not; with the threshold fixed at 64 KiB it stays flat;
\`malloc_trim\` hardly helps
([samsoir/xearthlayer#242](https://github.com/samsoir/xearthlayer/pull/242),
[pop-os/cosmic-bg#73](https://github.com/pop-os/cosmic-bg/pull/73), [chojs23/concord#319](https://github.com/chojs23/concord/pull/319)).
The first tile that is freed moves the threshold to its size, so later tiles lie in the heap, between records that stay.

**What came out.** So it is: the default climbs to $(mb default .peak.system_bytes) MB, most of it in the first hundreds of calls, and never comes
back; 64 KiB is flat. It is not the value that counts: \`trim_threshold\` at its own default does the same, since setting any of four
parameters stops the threshold from moving. Arenas have nothing to do with it.

**Why they differ.** In \`malloc_trim\`. At the end it gives back nearly all that is free ($(mb default .end.resident_bytes) MB resident become
$(mb trimmed .end.resident_bytes)), since glibc 2.8 also from the middle of a heap. But it gives back pages, not room: the heap stays as large, the
next tiles fill the holes again, and called every hundred rounds it lowers the peak of resident bytes from
$(mb default .peak.resident_bytes) to $(mb trimming .peak.resident_bytes) MB, and the mean from $(mean_resident default) to $(mean_resident trimming). What "hardly helps" means depends on when one looks.

The price of a fixed threshold: each tile is fresh pages, $(awk "BEGIN {printf \"%.0f\", $(figure fixed .minor_faults) / $(figure default .minor_faults)}") times the faults.
END_OF_PAGE
