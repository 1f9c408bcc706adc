#!/usr/bin/env bash
# Nothing on an island reaches the mainland: the interposer, the engine, the probe, the
# witness and what they are made of depend on no Abseil, protobuf, zstd, and on no folder above.
set -euo pipefail
cd "$(dirname "$0")/.."

islands='//recorder/interposer:libheaptape.so + //replayer/engine:heaptape-engine +
  //verifier/probe:libheaptape-probe.so + //verifier/witness:heaptape-witness'
reached=$(bazel query --noshow_progress --noimplicit_deps "kind('cc_.* rule', deps($islands))" 2>/dev/null)
bad=$(grep -vE '^//(recorder/(raw|wire|interposer)|replayer/(engine|plan:instruction)|verifier(/probe|/witness|:malloc_layout))' <<<"$reached" || true)
if [ -n "$bad" ]; then
  echo "islands reach the mainland:" >&2
  echo "$bad" >&2
  exit 1
fi
# The file format knows nobody, and nobody depends on the command.
bad=$(bazel query --noshow_progress --noimplicit_deps "kind('cc_library rule', deps(//proto:trace_reader + //proto:trace_writer))" 2>/dev/null |
  grep -E '^//' | grep -vE '^//(proto|testdata)' || true)
if [ -n "$bad" ]; then
  echo "proto depends on: $bad" >&2
  exit 1
fi
