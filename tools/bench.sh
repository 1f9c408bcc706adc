#!/usr/bin/env bash
# Runs every benchmark. Counters that end in _x are ratios within one run, and
# what the project promises is a bound on those; the header of each benchmark says
# what its counters are.
#
# usage: tools/bench.sh [FILTER]    only benchmarks whose names match FILTER
set -euo pipefail
cd "$(dirname "$0")/.."

# Traces of real programs that the project does not contain, if they are there.
shared=$(cd .. && pwd)/shared
[ -d "$shared" ] && export HEAPTAPE_SHARED=$shared

benchmarks=(
  recorder:record_benchmark
  proto:codec_benchmark
  replayer/plan:plan_benchmark
  replayer/driver:replay_benchmark
  analysis:sweep_benchmark
)
bazel build -c opt --noshow_progress "${benchmarks[@]/#///}"
for benchmark in "${benchmarks[@]}"; do
  binary=$PWD/bazel-bin/${benchmark/:/\/}
  # A benchmark finds the programs that it runs from its runfiles.
  (cd "$binary.runfiles/heaptape" && "$binary" --benchmark_filter="${1:-.}" --benchmark_counters_tabular=true)
done
