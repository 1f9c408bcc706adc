#!/bin/bash
# FORMAT.md, by way of a decoder written from it in another language, against
# `heaptape cat`: format_test.sh HEAPTAPE SAMPLE_TRACE DECODER PROTO.
set -euo pipefail
heaptape=$1 sample_trace=$2 decoder=$3 proto=$4
trace=$TEST_TMPDIR/sample.heaptape

protoc --python_out="$TEST_TMPDIR" --proto_path="$(dirname "$proto")" "$proto"
"$sample_trace" "$trace"
"$heaptape" compact "$trace" -o "$TEST_TMPDIR/compacted.heaptape"

for file in "$trace" "$TEST_TMPDIR/compacted.heaptape"; do
  "$heaptape" cat "$file" >"$TEST_TMPDIR/expected"
  zstd -dc <"$file" | PYTHONPATH=$TEST_TMPDIR /usr/bin/python3 "$decoder" >"$TEST_TMPDIR/decoded"
  [[ $(wc -l <"$TEST_TMPDIR/expected") -gt 180000 ]]
  if ! cmp "$TEST_TMPDIR/expected" "$TEST_TMPDIR/decoded"; then
    diff "$TEST_TMPDIR/expected" "$TEST_TMPDIR/decoded" | head -20
    exit 1
  fi
done
