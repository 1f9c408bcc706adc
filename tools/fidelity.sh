#!/usr/bin/env bash
# What a replay of one recording, made under default settings, predicts of a
# setting, against what the program itself says when it runs under it. Prints a
# table; exits 1 if a row is outside its bounds:
#
#   system bytes at the last stage     2 % or 1 MB
#   resident bytes there               5 % or 2 MB
#   minor faults                       10 % or 200
#   brk, mmap, munmap calls in all     1 % or 4
#
# What the program has before its first allocation is taken off its figures. Its
# calls are counted by strace, those for threads' stacks left out; without strace
# they are not compared. A program that ends by malloc_trim prints its last stage
# there, so there its replay ends.
#
# usage: tools/fidelity.sh CASES [CASE...]    CASES: a directory with patterns.c and manifest.c
set -euo pipefail

if [ $# -lt 1 ] || [ ! -f "$1/patterns.c" ]; then
  echo "usage: tools/fidelity.sh CASES [CASE...] (CASES: a directory with patterns.c and manifest.c)" >&2
  exit 2
fi
cases=$1
shift
only=" $* "
heaptape=${HEAPTAPE:-$(dirname "$0")/../bazel-bin/tools/heaptape}
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
flags=(-O1 -w -fno-builtin-malloc -fno-builtin-free -fno-builtin-realloc -pthread)
gcc "${flags[@]}" "$cases/patterns.c" -o "$work/patterns"
gcc "${flags[@]}" "$cases/manifest.c" -o "$work/manifest"

# case, then the setting to try, as a replay option.
rows=(
  "frames -"
  "frames --mmap-threshold=65536"
  "frames --mmap-threshold=131072"
  "frames --arena-max=1"
  "frames --tcache-count=0"
  "frames --mxfast=0"
  "reqpool -"
  "reqpool --arena-max=1"
  "reqpool --arena-max=2"
  "reqpool --mmap-threshold=131072"
  "reqpool --top-pad=1048576"
  "reqpool --tcache-count=0"
  "lifo -"
  "lifo --tcache-count=0"
  "lifo --mmap-threshold=131072"
  "lifo --trim-threshold=131072"
  "lifo --mxfast=0"
  "fifo -"
  "comb -"
  "comb --trim-threshold=131072"
  "comb --tcache-count=0"
  "leak -"
  "medium -"
  "medium --mmap-threshold=2048"
  "frameloop -"
  "frameloop --mmap-threshold=131072"
  "manifest -"
  "manifest --mmap-threshold=65536"
)

# Runs a case under a setting of glibc's ("" for none), behind the given command.
run() {
  local case=$1 tunables=$2
  shift 2
  if [ "$case" = manifest ]; then set -- "$@" "$work/manifest"; else set -- "$@" "$work/patterns" "$case"; fi
  if [ -n "$tunables" ]; then set -- env "GLIBC_TUNABLES=$tunables" "$@"; fi
  "$@"
}

# System bytes, resident bytes and minor faults of the program's last stage; 0: it does not say.
own_figures() {
  awk '/glibc arena=/ { match($0, /arena=[0-9.]+/);  a = substr($0, RSTART + 6, RLENGTH - 6)
                        match($0, /hblk=[0-9.]+/);   h = substr($0, RSTART + 5, RLENGTH - 5)
                        match($0, / rss= *[0-9.]+/); r = substr($0, RSTART + 5, RLENGTH - 5)
                        match($0, /minflt=[0-9]+/);  f = substr($0, RSTART + 7, RLENGTH - 7)
                        system_bytes = (a + h) * 1e6 }
       / system [0-9]+ inuse/ { system_bytes = $3 }
       END { printf "%d %d %d\n", system_bytes, r * 1e6, f }'
}

# brk, mmap and munmap calls in a file of strace's, those for threads' stacks left out.
count_calls() {
  awk '/resumed>/ { next }
       /MAP_STACK|munmap\([^,]*, 8392704\)/ { next }
       / (brk|mmap|munmap)\(/ { ++calls }
       END { print calls + 0 }' "$1"
}

trace_calls() {
  run "$1" "$2" strace -f -e trace=brk,mmap,munmap -o "$work/calls" >/dev/null || true
  count_calls "$work/calls"
}

# What every run has before its first allocation. The case that does not exist does nothing.
start_calls=-
if strace -o /dev/null true 2>/dev/null; then start_calls=$(trace_calls nothing ""); fi
read -r start_faults start_kib <<<"$(/usr/bin/time -f '%R %M' "$work/patterns" nothing 2>&1 | tail -1 || true)"

printf '%-10s %-25s %17s %17s %19s %15s\n' '' '' 'system MB' 'resident MB' 'minor faults' 'calls'
printf '%-10s %-25s %8s %8s %8s %8s %9s %9s %7s %7s\n' case setting program replay program replay program replay \
  program replay
status=0
for row in "${rows[@]}"; do
  read -r case option <<<"$row"
  [ "$only" = "  " ] || [[ $only == *" $case "* ]] || continue
  trace=$work/$case.heaptape
  [ -f "$trace" ] || run "$case" "" "$heaptape" record -o "$trace" -- >/dev/null 2>&1
  tunables=
  options=(--touch=pages --format=json)
  trim=$("$heaptape" cat "$trace" | awk '/malloc_trim/ { event = $1 } END { print event }')
  [ -z "$trim" ] || options+=("--until=$trim")
  if [ "$option" != - ]; then
    options+=("$option")
    tunables=${option#--}
    tunables=glibc.malloc.${tunables//-/_}
  fi
  read -r system resident faults <<<"$(run "$case" "$tunables" | own_figures)"
  [ "$faults" = 0 ] || faults=$((faults - start_faults))
  [ "$resident" = 0 ] || resident=$((resident - 1024 * start_kib))
  calls=-
  [ "$start_calls" = - ] || calls=$(($(trace_calls "$case" "$tunables") - start_calls))
  read -r replayed <<<"$("$heaptape" replay "$trace" "${options[@]}" |
    jq -r '"\(.end.system_bytes) \(.end.resident_bytes) \(.minor_faults) \(.syscalls.brk + .syscalls.mmap + .syscalls.munmap)"')"
  awk -v name="$case" -v setting="$option" -v program="$system $resident $faults $calls" \
    -v replay="$replayed" '
    function outside(i, percent, least,   off) {
      if (p[i] == "-" || p[i] == 0 && i != 1) return 0
      off = p[i] > r[i] ? p[i] - r[i] : r[i] - p[i]
      return off > least && off > p[i] * percent / 100
    }
    function shown(i, unit) { return p[i] == "-" || p[i] == 0 && i != 1 ? "-" : sprintf(unit == 1 ? "%d" : "%.1f", p[i] / unit) }
    BEGIN {
      split(program, p); split(replay, r)
      if (setting == "-") setting = "as recorded"
      bad = (outside(1, 2, 1e6) ? " system" : "") (outside(2, 5, 2e6) ? " resident" : "") \
            (outside(3, 10, 200) ? " faults" : "") (outside(4, 1, 4) ? " calls" : "")
      printf "%-10s %-25s %8s %8.1f %8s %8.1f %9s %9d %7s %7d%s\n", name, setting, shown(1, 1e6), r[1] / 1e6, \
             shown(2, 1e6), r[2] / 1e6, shown(3, 1), r[3], shown(4, 1), r[4], (bad ? "  OUTSIDE:" bad : "")
      exit bad != "" }' || status=1
done
exit $status
