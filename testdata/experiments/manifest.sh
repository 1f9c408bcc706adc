#!/usr/bin/env bash
# The growing text, rebuilt by realloc.
source "$(dirname "$0")/experiment.sh" "$@"

versions=$(size 400 200)
record trace "$versions"
for run in "default" "fixed --mmap-threshold=64K" "jemalloc --allocator=jemalloc" "settled --allocator=jemalloc --settle=30" "trimmed --trim-at=end"; do
  read -r key settings <<<"$run"
  replay "$key" trace --touch=pages $settings
done
for run in "default" "fixed --mmap-threshold=64K" "jemalloc --allocator=jemalloc"; do
  read -r key settings <<<"$run"
  timeline "$key" trace --touch=pages $settings
done

needed=$(figure default .end.requested_bytes)
claim "$(figure default .end.system_bytes) > 1.08 * $needed"
claim "$(figure default .end.resident_bytes) > 1.08 * $needed"
claim "$(figure fixed .end.system_bytes) < 1.01 * $needed"
claim "$(figure settled .end.resident_bytes) < 0.95 * $(figure default .end.resident_bytes)"
claim "$(figure settled .end.resident_bytes) < $(figure jemalloc .end.resident_bytes)"
claim "$(figure jemalloc .end.system_bytes) > $(figure default .end.system_bytes)"

chart "A text of some megabytes, rebuilt by realloc" \
  "asked for" default requested_bytes "glibc, system" default system_bytes \
  "glibc 64 KiB, system" fixed system_bytes "jemalloc, resident" jemalloc resident_bytes

row() {
  echo "| $1 | $(mb "$2" .peak.system_bytes) | $(mb "$2" .end.system_bytes) | $(mb "$2" .end.resident_bytes) |" \
    "$(thousands "$2" .minor_faults) | $(figure "$2" '.syscalls.mremap') |"
}
# The first event from which system bytes stay a twentieth above what is asked for.
left_behind=$(awk -F, 'NR > 1 {if ($4 > 1.05 * $2) {if (!at) at = $1} else at = 0} END {print at}' default.csv)
claim "$left_behind > 0"
write_page <<END_OF_PAGE
# The growing text

A text of 4 MiB and more is made anew $versions times, by appending pieces: it grows by realloc, each piece is a block of its own, and
small records are born on the way. The last 40 versions are kept ([manifest.c](manifest.c)); $(mb default .end.requested_bytes) MB are asked for at the
end. One recording, replayed, one byte in each page written to. In MB:

| settings | system, peak | system, end | resident, end | faults, thousands | mremap |
|---|--:|--:|--:|--:|--:|
$(row "default" default)
$(row "\`--mmap-threshold=64K\`" fixed)
$(row "\`--allocator=jemalloc\`" jemalloc)
$(row "\`--allocator=jemalloc --settle=30\`" settled)
$(row "default, \`--trim-at=end\`" trimmed)

![system bytes over calls](manifest.svg)

**Expected.** Under glibc, what the process holds leaves what it uses behind, and jemalloc cures it
([BasedHardware/omi#6938](https://github.com/BasedHardware/omi/issues/6938), buffers that are extended and copied;
[facebook/ThreatExchange#1971](https://github.com/facebook/ThreatExchange/pull/1971)).

**What came out.** Under glibc the two curves, what is held and what is asked for, part for good at call $left_behind, and the gap is $(awk "BEGIN {printf \"%.0f\", ($(figure default .end.system_bytes) - $needed) / 1e6}") MB at the end: a version that has grown out of its
hole leaves one that is a little too short for the next. A fixed threshold closes the gap: each version has a mapping, and realloc moves pages
instead of bytes.

**Why they differ.** In what is counted, and when. jemalloc holds *more* address space than glibc, $(mb jemalloc .end.system_bytes) MB, since it does not give
ranges back that it may use again; who has a limit on address space (ulimit -v) sees a regression. Of that, $(mb jemalloc .end.resident_bytes) MB are resident
when the last call has been made, no less than glibc's $(mb default .end.resident_bytes): jemalloc gives back by the clock, which hardly moves in a replay, nor
in a program that is busy. Half a minute later it is $(mb settled .end.resident_bytes). Who looks at RSS some time after the work sees a cure. The fixed threshold is as good at once, at the price of faults.
END_OF_PAGE
