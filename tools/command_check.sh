# For tests of the command: `source tools/command_check.sh PATH_OF_HEAPTAPE`. Goes
# to an empty directory and counts in $failures.

heaptape=$PWD/$1
cd "$TEST_TMPDIR" || exit 1
failures=0

# check STATUS "STDERR PATTERN" ARGUMENTS...: the standard output is left in `out`.
check() {
  local status=$1 pattern=$2
  shift 2
  "$heaptape" "$@" >out 2>err
  local got=$?
  if [[ $got != "$status" ]]; then
    echo "heaptape $*: exit status $got, not $status: $(cat err)"
    failures=$((failures + 1))
  fi
  if ! grep -q -E -e "^$pattern\$" err && [[ -n $pattern || -s err ]]; then
    echo "heaptape $*: standard error is '$(cat err)', not '$pattern'"
    failures=$((failures + 1))
  fi
  if [[ $status == 2 && $(wc -l <err) != 1 ]]; then
    echo "heaptape $*: wrong usage is worth one line, not '$(cat err)'"
    failures=$((failures + 1))
  fi
}

# expect TEXT: `out` is exactly that.
expect() {
  diff -u <(printf '%s' "$1") out || failures=$((failures + 1))
}
