#!/usr/bin/env bash
# Builds heaptape and installs it under PREFIX. The tree may be moved as a whole:
# the command finds its parts relative to itself.
set -euo pipefail

if [ $# -ne 1 ]; then
  echo "usage: tools/install.sh PREFIX" >&2
  exit 2
fi
mkdir -p "$1"
prefix=$(cd "$1" && pwd)
cd "$(dirname "$0")/.."

bazel build -c opt --noshow_progress \
  //tools:heaptape //recorder/interposer:libheaptape.so //replayer/engine:heaptape-engine \
  //verifier/probe:libheaptape-probe.so //verifier/witness:heaptape-witness

install -D -m 755 bazel-bin/tools/heaptape "$prefix/bin/heaptape"
install -D -m 755 bazel-bin/recorder/interposer/libheaptape.so "$prefix/lib/heaptape/libheaptape.so"
install -D -m 755 bazel-bin/replayer/engine/heaptape-engine "$prefix/libexec/heaptape/heaptape-engine"
install -D -m 755 bazel-bin/verifier/probe/libheaptape-probe.so "$prefix/lib/heaptape/libheaptape-probe.so"
install -D -m 755 bazel-bin/verifier/witness/heaptape-witness "$prefix/libexec/heaptape/heaptape-witness"
echo "installed $prefix/bin/heaptape"
