#!/bin/bash
# A Python program: what its own allocator hides is said where it matters, and is there
# with PYTHONMALLOC=malloc.
set -u
source tools/command_check.sh "$1"
note="CPython serves blocks of up to 512 bytes by itself, from arenas of 1 MiB"
program='objects = [[i, str(i)] for i in range(20000)]'

check 0 "heaptape: $note.*" record -o hidden.heaptape -- /usr/bin/python3 -c "$program"
PYTHONMALLOC=malloc "$heaptape" record -o shown.heaptape -- /usr/bin/python3 -c "$program" 2>err
grep -q CPython err && { echo "record: $(cat err)"; failures=$((failures + 1)); }

# told TEXT ARGUMENTS...: whether the command says it.
told() {
  "$heaptape" "${@:2}" 2>err | grep -q "$1"
}
for command in info report; do
  for format in "" --format=json; do
    told "$note" $command hidden.heaptape $format || { echo "$command $format does not say it"; failures=$((failures + 1)); }
    told CPython $command shown.heaptape $format && { echo "$command $format says it for nothing"; failures=$((failures + 1)); }
  done
done
for command in replay holes cat; do
  told CPython $command hidden.heaptape && { echo "$command says it"; failures=$((failures + 1)); }
done

# Each of the 20,000 lists and strings, and what lists keep their items in.
hidden=$("$heaptape" info --format=json hidden.heaptape | jq .events)
shown=$("$heaptape" info --format=json shown.heaptape | jq .events)
((hidden < 20000 && shown > hidden + 60000)) || { echo "events: $hidden and $shown"; failures=$((failures + 1)); }

exit $((failures > 0))
