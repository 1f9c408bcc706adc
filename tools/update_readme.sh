#!/usr/bin/env bash
# Runs the commands that README.md shows and puts what they print into it.
set -euo pipefail
cd "$(dirname "$0")/.."
root=$PWD
bazel build -c opt --noshow_progress //tools:heaptape //testdata/programs:thumbnails 2>/dev/null

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cp bazel-bin/testdata/programs/thumbnails "$work"
export PATH=$root/bazel-bin/tools:$PATH

transcript=$work/transcript
show() {
  printf '    $ %s\n' "$*" >>"$transcript"
  # Indented, so that Markdown leaves it alone.
  (cd "$work" && "$@" 2>&1) | sed 's/^/    /; s/ *$//' >>"$transcript"
  echo >>"$transcript"
}
show heaptape record -o thumbnails.heaptape -- ./thumbnails
show heaptape holes thumbnails.heaptape --top=3
show heaptape replay thumbnails.heaptape --mmap-threshold=65536
show heaptape sweep thumbnails.heaptape --grid=mmap_threshold=64K..4M*4 --grid=arena_max=1 --grid=trim=end

awk -v transcript="$transcript" '
  /^<!-- end of transcript/ { skip = 0 }
  !skip { print }
  /^<!-- transcript/ { skip = 1; print ""; while ((getline line < transcript) > 0) print line }' README.md >"$work/README.md"
cp "$work/README.md" README.md
