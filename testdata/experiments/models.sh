#!/usr/bin/env bash
# Loading and unloading models: what stays, cycle by cycle.
source "$(dirname "$0")/experiment.sh" "$@"

cycles=$(size 12 5)
megabytes=$(size 100 60)
record trace "$cycles" "$megabytes"
for run in "default" "both --mmap-threshold=64K --trim-threshold=64K" "mmap --mmap-threshold=64K" \
  "trim --trim-threshold=64K" "trimmed --trim-at=end"; do
  read -r key settings <<<"$run"
  replay "$key" trace --touch=pages $settings
  [[ $key == trimmed ]] || timeline "$key" trace --touch=pages $settings
done

# Where each idle phase begins; a sample is taken each 256 calls.
"$heaptape" cat trace.heaptape | awk '/malloc\(7\)/ && count++ % 1000 == 0 {print $1}' >idle
# settled KEY CYCLE: resident MB in that idle phase.
settled() {
  local event
  event=$(sed -n "$2p" idle)
  awk -F, -v event="$event" 'NR > 1 && $1 >= event {printf "%.1f", $5 / 1e6; exit}' "$1.csv"
}

claim "$(wc -l <idle) == $cycles"
claim "$(settled default "$cycles") > 20 * $(settled both "$cycles")"
claim "$(settled both "$cycles") < 3"
for key in mmap trim; do claim "$(settled $key "$cycles") < 1.3 * $(settled both "$cycles")"; done
claim "$(figure trimmed .end.resident_bytes) < 1.2 * $(figure trimmed .end.requested_bytes)"
claim "$(figure both .minor_faults) > 2 * $(figure default .minor_faults)"
claim "$(figure both .peak.system_bytes) > 0.9 * $(figure default .peak.system_bytes)"

chart "Switching models: what the heap holds" \
  "asked for" default requested_bytes "default" default system_bytes "both thresholds 64 KiB" both system_bytes

row() {
  echo "| $1 | $(settled default "$1") | $(settled both "$1") | $(settled mmap "$1") | $(settled trim "$1") |"
}
cost() {
  echo "| $1 | $(mb "$2" .peak.system_bytes) | $(mb "$2" .end.resident_bytes) | $(thousands "$2" .minor_faults) |" \
    "$(figure "$2" '.syscalls.mmap + .syscalls.munmap + .syscalls.brk') |"
}
write_page <<END_OF_PAGE
# Switching models

A server loads a model of up to $megabytes MB weight by weight, serves ten requests, of which each leaves one small cache entry, and unloads
it; $cycles times, with models of different size ([models.c](models.c)). One recording, replayed, one byte in each page written to.

Resident MB that stay when a model is unloaded:

| cycle | default | both at 64 KiB | mmap_threshold alone | trim_threshold alone |
|--:|--:|--:|--:|--:|
$(for ((i = 1; i <= cycles; ++i)); do row $i; done)

| settings | system, peak MB | resident at the end, MB | faults, thousands | mmap, munmap, brk |
|---|--:|--:|--:|--:|
$(cost "default" default)
$(cost "\`--mmap-threshold=64K --trim-threshold=64K\`" both)
$(cost "\`--mmap-threshold=64K\`" mmap)
$(cost "\`--trim-threshold=64K\`" trim)
$(cost "default, \`--trim-at=end\`" trimmed)

![system bytes over calls](models.svg)

**Expected.** A widely read account ("Two environment variables that fix PyTorch memory creep", and
[discuss.huggingface.co 174750](https://discuss.huggingface.co/t/found-the-fix-for-memory-not-being-freed-when-switching-models-on-linux-its-not-python-or-pytorch/174750))
says: a process grows with each switch, until it is killed; \`MALLOC_MMAP_THRESHOLD_=65536\` and \`MALLOC_TRIM_THRESHOLD_=65536\` together keep it
flat; \`malloc_trim\` helps a bit; the two cost nothing.

**What came out.** The cure works: $(settled default "$cycles") MB against $(settled both "$cycles"), of which $(mb both .end.requested_bytes) are the cache entries. The
growth has an end, though: from the second cycle on, what stays goes up and down with the models and does not climb. Each of the
two variables does it alone: either stops the threshold from moving, and all but the smallest weights get mappings.

**Why they differ.** A heap that is full of holes is filled again by the next model as long as the weights fit; growth for ever needs
entries that split holes faster than that. \`malloc_trim\` does more than a bit here: all but $(mb trimmed .end.resident_bytes) MB go, but it must be called
after each unload. And the cure is not free: $(awk "BEGIN {printf \"%.1f\", $(figure both .minor_faults) / $(figure default .minor_faults)}") times the faults,
since each weight, each read buffer and each activation is fresh pages from the kernel.
END_OF_PAGE
