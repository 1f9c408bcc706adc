#!/usr/bin/env bash
# A buffer for each frame: what a pair of settings saves.
source "$(dirname "$0")/experiment.sh" "$@"

frames=$(size 100 30)
record trace "$frames"
replay default trace --touch=pages
replay heap trace --touch=pages --mmap-max=0
replay kept trace --touch=pages --mmap-max=0 --trim-threshold=4294967295

claim "$(figure default .syscalls.mmap) == $frames && $(figure default .syscalls.munmap) == $frames"
claim "$(figure heap .syscalls.mmap) == 0"
claim "$(figure heap .syscalls.brk) >= 2 * $frames && $(figure heap .syscalls.brk) <= 2 * $frames + 10"
claim "$(figure kept .syscalls.mmap) == 0 && $(figure kept .syscalls.brk) <= 4"
claim "$(figure kept .minor_faults) < 1.05 / $frames * $(figure default .minor_faults)"
claim "$(figure heap .minor_faults) > 0.95 * $(figure default .minor_faults)"
claim "$(figure kept .end.resident_bytes) > 66000000 && $(figure default .end.resident_bytes) < 1000000"

row() {
  echo "| $1 | $(figure "$2" .syscalls.mmap) | $(figure "$2" .syscalls.munmap) | $(figure "$2" .syscalls.brk) |" \
    "$(thousands "$2" .minor_faults) | $(mb "$2" .end.resident_bytes) |"
}
write_page <<END_OF_PAGE
# A buffer for each frame

A pipeline makes a buffer of 66,355,200 bytes for each frame, 7680 x 4320 pixels of 2 bytes, and frees it behind the frame
([frames.c](frames.c)). $frames frames, recorded once, replayed under three settings; one byte in each page is written to.

| settings | mmap | munmap | brk | faults, thousands | resident at the end, MB |
|---|--:|--:|--:|--:|--:|
$(row "default" default)
$(row "\`--mmap-max=0\`" heap)
$(row "\`--mmap-max=0 --trim-threshold=4294967295\`" kept)

**Expected.** Libraries with large buffers set \`M_MMAP_MAX\` to 0 and \`M_TRIM_THRESHOLD\` to its maximum when they are loaded, since
otherwise the kernel's work for fresh pages is most of the time
([openfheorg/openfhe-development#1213](https://github.com/openfheorg/openfhe-development/pull/1213),
[python-pillow/Pillow#2738](https://github.com/python-pillow/Pillow/pull/2738)). Blocks of this size never get into the heap by
themselves: glibc moves its threshold to 32 MiB at most.

**What came out.** By default each frame is one mmap and one munmap, and each of its pages a fault. \`--mmap-max=0\` alone changes the
calls and saves nothing: the heap grows for each frame by brk, and shrinks again, since what is free at its end is more
than trim_threshold. With both, the first frame's pages serve all: a few calls of brk, and one $frames-th of the faults.

**Why they differ.** They do not; but the first half of the advice is worth nothing without the second, and the price is seldom told:
the process keeps the buffer, $(mb kept .end.resident_bytes) MB, for as long as it lives.
END_OF_PAGE
