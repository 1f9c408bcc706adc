#!/usr/bin/env bash
# Runs the experiments, all or those that are named, and writes their pages anew.
#   regenerate.sh [NAME]...
set -euo pipefail
cd "$(dirname "$0")"
root=$(cd ../.. && pwd)
names=("$@")
((${#names[@]} > 0)) || names=(tiles models arenas frames manifest)
cd "$root"
bazel build -c opt --noshow_progress //tools:heaptape "${names[@]/#///testdata/experiments:}"
for name in "${names[@]}"; do
  "testdata/experiments/$name.sh" bazel-bin/tools/heaptape "bazel-bin/testdata/experiments/$name" \
    "testdata/experiments/$name.md"
done
