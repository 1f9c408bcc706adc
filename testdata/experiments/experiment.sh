# What the experiments share: `source experiment.sh "$@"`, where the arguments are
#
#   HEAPTAPE PROGRAM PAGE
#
# the command, the program to record, and the page to write; its chart, if there is
# one, goes beside it as .svg. HEAPTAPE_EXPERIMENT=small makes it smaller, for a test.
# A claim that does not hold is told on standard error, and the script fails.
set -euo pipefail

heaptape=$(realpath "$1")
program=$(realpath "$2")
page=$(realpath -m "$3")
tools=$(realpath "$(dirname "${BASH_SOURCE[0]}")")
mkdir -p "$(dirname "$page")"
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"
failures=0

# size FULL SMALL
size() {
  if [[ ${HEAPTAPE_EXPERIMENT:-} == small ]]; then echo "$2"; else echo "$1"; fi
}

# record NAME ARGUMENTS...: runs the program, into NAME.heaptape.
record() {
  local name=$1
  shift
  "$heaptape" record -o "$name.heaptape" -- "$program" "$@" 2>log || { cat log >&2 && exit 1; }
}

# replay KEY NAME SETTINGS...: figures of a replay, to be asked for by KEY.
replay() {
  local key=$1 name=$2
  shift 2
  "$heaptape" replay "$name.heaptape" --format=json "$@" >"$key.json"
}

# timeline KEY NAME SETTINGS...: the curve, as KEY.csv.
timeline() {
  local key=$1 name=$2
  shift 2
  "$heaptape" timeline "$name.heaptape" --format=csv "$@" >"$key.csv"
}

# figure KEY PATH: one figure, as .peak.system_bytes.
figure() { jq "$2" "$1.json"; }
# In MB, and in thousands.
mb() { jq "$2" "$1.json" | awk '{printf "%.1f", $1 / 1e6}'; }
thousands() { jq "$2" "$1.json" | awk '{printf "%.0f", $1 / 1000}'; }

# claim CONDITION: one that awk knows.
claim() {
  awk "BEGIN { exit !($1) }" && return
  echo "$(basename "$page" .md): the claim does not hold: $1" >&2
  failures=$((failures + 1))
}

# chart TITLE LABEL KEY COLUMN...: of timelines.
chart() {
  local title=$1 arguments=()
  shift
  while (($# > 0)); do
    arguments+=("$1" "$2.csv" "$3")
    shift 3
  done
  python3 "$tools/chart.py" "$title" "${arguments[@]}" >"${page%.md}.svg"
}

# The page, from standard input.
write_page() {
  cat >"$page"
  exit $((failures > 0))
}
