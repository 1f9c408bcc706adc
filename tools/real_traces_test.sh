#!/bin/bash
# Determinism on real programs: two replays agree in every address and figure,
# also while both cores are busy. And each block lies where it was recorded.
set -euo pipefail
heaptape=$PWD/$1
cd "$TEST_TMPDIR"

PYTHONMALLOC=malloc "$heaptape" record -o python.heaptape -- /usr/bin/python3 -c '
import ast, json, os
root = os.path.dirname(os.__file__)
for name in sorted(os.listdir(root))[:12]:
    if name.endswith(".py"):
        with open(os.path.join(root, name), encoding="utf-8") as source:
            json.loads(json.dumps(ast.dump(ast.parse(source.read()))))'
traces=(python)
if [[ -d ${HEAPTAPE_SHARED:-}/traces/android ]]; then
  for name in surfaceflinger systemui; do
    "$heaptape" import --from=android "$HEAPTAPE_SHARED/traces/android/$name.zip" -o "$name.heaptape"
    traces+=("$name")
  done
else
  echo "skipped the Android traces: HEAPTAPE_SHARED does not name a directory with traces/android"
fi

for trace in "${traces[@]}"; do
  "$heaptape" replay --check --format=json "$trace.heaptape" >"$trace.quiet"
  jq -e .checked "$trace.quiet" >/dev/null
done

jq -e '.placement.compared > 100000 and .placement.equal >= 0.99 * .placement.compared' python.quiet >/dev/null ||
  { echo "python: placement $(jq -c .placement python.quiet)"; exit 1; }

# Compacted, a trace replays to the same digest, in so many thousandths of a byte an event.
# A short run of python has little time to repeat itself.
declare -A most=([python]=450 [surfaceflinger]=250 [systemui]=500)
for trace in "${traces[@]}"; do
  "$heaptape" compact "$trace.heaptape" -o "$trace.compacted"
  "$heaptape" replay --format=json "$trace.compacted" >"$trace.again"
  [[ $(jq .digest "$trace.again") == "$(jq .digest "$trace.quiet")" ]] || { echo "$trace: compacted, another digest"; exit 1; }
  bytes=$(stat -c %s "$trace.compacted")
  events=$(jq .trace.events "$trace.quiet")
  ((1000 * bytes < most[$trace] * events)) || { echo "$trace: compacted, $bytes bytes for $events events"; exit 1; }
done

# Nothing but times may differ between a quiet machine and a busy one.
figures='del(.replay_seconds, .allocator_seconds, .minor_faults)'
busy=()
trap 'kill "${busy[@]}"' EXIT
for ((core = 0; core < $(nproc); ++core)); do
  (while :; do :; done) &
  busy+=($!)
done
for trace in "${traces[@]}"; do
  "$heaptape" replay --check --format=json "$trace.heaptape" >"$trace.busy"
  for run in quiet busy; do
    jq "$figures" "$trace.$run" >"$trace.$run.figures"
  done
  diff "$trace.quiet.figures" "$trace.busy.figures"
  echo "$trace: $(jq -r '"\(.trace.events) events, \(.trace.threads) threads, digest \(.digest)"' "$trace.busy")"
done

# Ten replays agree under every allocator that there is, processors still busy.
for allocator in glibc jemalloc tcmalloc mimalloc; do
  for trace in "${traces[@]}"; do
    for run in {1..10}; do
      "$heaptape" replay --allocator="$allocator" --format=json "$trace.heaptape" >run.json 2>run.error || {
        grep -q 'not installed' run.error || { cat run.error; exit 1; }
        echo "skipped $allocator: not installed"
        continue 3
      }
      jq "$figures" run.json >"run.$run"
      diff run.1 "run.$run" || { echo "$trace under $allocator: run $run differs from the first"; exit 1; }
    done
    echo "$trace under $allocator: ten times $(jq -r .digest run.json)"
  done
done
