#!/usr/bin/env bash
# What a replay of one recording predicts, against what the program itself says
# when it runs under that setting. Prints a table; exits 1 if a row is outside
# its bound.
#
# usage: tools/fidelity.sh CASES    a directory with patterns.c
set -euo pipefail

if [ $# -ne 1 ] || [ ! -f "$1/patterns.c" ]; then
  echo "usage: tools/fidelity.sh CASES (a directory with patterns.c)" >&2
  exit 2
fi
cases=$1
heaptape=${HEAPTAPE:-$(dirname "$0")/../bazel-bin/tools/heaptape}
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
gcc -O1 -w -fno-builtin-malloc -fno-builtin-free -pthread "$cases/patterns.c" -o "$work/patterns"

# case, then the settings to try: a replay option and the tunable it stands for.
rows=(
  "frames - -"
  "frames --mmap-threshold=65536 glibc.malloc.mmap_threshold=65536"
  "frames --mmap-threshold=131072 glibc.malloc.mmap_threshold=131072"
  "frames --arena-max=1 glibc.malloc.arena_max=1"
  "lifo - -"
  "lifo --tcache-count=0 glibc.malloc.tcache_count=0"
  "fifo - -"
  "reqpool - -"
  "reqpool --arena-max=1 glibc.malloc.arena_max=1"
  "reqpool --arena-max=2 glibc.malloc.arena_max=2"
  "comb - -"
  "leak - -"
  "medium - -"
  "medium --mmap-threshold=2048 glibc.malloc.mmap_threshold=2048"
  "frameloop - -"
  "frameloop --mmap-threshold=131072 glibc.malloc.mmap_threshold=131072"
)

# arena + hblk of the program's last stage, in bytes.
own_system_bytes() {
  awk '/glibc arena=/ { match($0, /arena=[0-9.]+/); a = substr($0, RSTART + 6, RLENGTH - 6)
                        match($0, /hblk=[0-9.]+/);  h = substr($0, RSTART + 5, RLENGTH - 5) }
       END { printf "%d\n", (a + h) * 1e6 }'
}

printf '%-10s %-26s %14s %14s %8s\n' case setting 'program, MB' 'replay, MB' 'off by'
status=0
for row in "${rows[@]}"; do
  read -r case option tunable <<<"$row"
  trace=$work/$case.heaptape
  [ -f "$trace" ] || "$heaptape" record -o "$trace" -- "$work/patterns" "$case" >/dev/null 2>&1
  if [ "$option" = - ]; then
    own=$("$work/patterns" "$case" | own_system_bytes)
    replayed=$("$heaptape" replay "$trace" --format=json | jq .end.system_bytes)
    percent=1
  else
    own=$(GLIBC_TUNABLES=$tunable "$work/patterns" "$case" | own_system_bytes)
    replayed=$("$heaptape" replay "$trace" "$option" --format=json | jq .end.system_bytes)
    percent=2
  fi
  # The program prints 0.1 MB at best.
  awk -v name="$case" -v option="$option" -v own="$own" -v replayed="$replayed" -v percent=$percent 'BEGIN {
    off = replayed - own; if (off < 0) off = -off
    bad = off > own * percent / 100 && off > 200000
    printf "%-10s %-26s %14.1f %14.1f %7.2f%%%s\n", name, (option == "-" ? "as recorded" : option), own / 1e6,
           replayed / 1e6, (own > 0 ? 100 * off / own : 0), (bad ? "  OUTSIDE " percent "%" : "")
    exit bad }' || status=1
done
exit $status
