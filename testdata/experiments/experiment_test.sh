#!/bin/bash
# An experiment at reduced size, whose claims must hold there too, and at full size,
# where its page must be the one that is checked in.
#   experiment_test.sh SCRIPT HEAPTAPE PROGRAM PAGE
set -u
script=$1 heaptape=$2 program=$3 checked_in=$4
name=$(basename "$checked_in" .md)
HEAPTAPE_EXPERIMENT=small "$script" "$heaptape" "$program" "$TEST_TMPDIR/small/$name.md" || exit 1
"$script" "$heaptape" "$program" "$TEST_TMPDIR/$name.md" || exit 1

# The same words, and numbers that differ by a hundredth at most: another kernel counts
# a few faults more. Whole pages are for the glibc that they were made with.
if ! ldd --version | grep -q ' 2\.36$'; then
  echo "not compared with $checked_in: another glibc than 2.36"
  exit 0
fi
python3 - "$checked_in" "$TEST_TMPDIR/$name.md" <<'PYTHON'
import re
import sys

want, got = (open(path).read() for path in sys.argv[1:])
number = re.compile(r"\d[\d,]*(?:\.\d+)?")
if number.sub("N", want) != number.sub("N", got):
    sys.exit(f"other words than in {sys.argv[1]}; regenerate.sh makes it anew:\n{got}")
for a, b in zip(number.findall(want), number.findall(got)):
    x, y = (float(text.replace(",", "")) for text in (a, b))
    if abs(x - y) > 0.01 * max(x, y) + 0.15:
        sys.exit(f"{b} where {sys.argv[1]} has {a}")
PYTHON
