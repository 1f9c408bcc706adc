#!/bin/bash
# Settings in real processes: in force, and for each usual cause not.
set -u
root=$PWD
settings=$PWD/$2
source tools/command_check.sh "$1"
threshold=glibc.malloc.mmap_threshold

fail() {
  echo "$*"
  failures=$((failures + 1))
}

# start [NAME=VALUE...] COMMAND...: runs it, in $pid, until it says that it is ready.
# Its standard input stays open until `finish`.
start() {
  rm -f in ready
  mkfifo in ready
  env "$@" <in >ready &
  pid=$!
  exec 7>in 8<ready
  read -r _ <&8
}
finish() {
  exec 7>&- 8<&-
  wait "$pid"
}

# row PROCESS NAME: "verdict cause wanted at_exec in_force" of a setting in `out`; "none"
# if it is not told of.
row() {
  jq -r --argjson process "$1" --arg name "$2" '[.processes[$process].settings[] | select(.name == $name)
    | "\(.verdict) \(.cause) \(.wanted) \(.at_exec) \(.in_force)"] | first // "none"' out
}
# row_is PROCESS NAME TEXT
row_is() {
  local got
  got=$(row "$1" "$2")
  [[ $got == "$3" ]] || fail "line ${BASH_LINENO[0]}: $2 in process $1 is '$got', not '$3': $(cat out)"
}

# In force: by either kind of variable, in the process's memory.
start GLIBC_TUNABLES=$threshold=65536:glibc.malloc.tcache_count=0 MALLOC_ARENA_MAX=2 "$settings" plain
check 0 "" verify --format=json "$pid"
row_is 0 $threshold "in_force null 65536 65536 65536"
row_is 0 glibc.malloc.tcache_count "in_force null 0 0 0"
row_is 0 glibc.malloc.arena_max "in_force null 2 2 2"
[[ $(jq .in_force out) == true ]] || fail "in_force: $(cat out)"
# What is asked for here, besides.
check 0 "" verify --mmap-threshold=64K "$pid"
check 1 "" verify --format=json --mmap-threshold=128K --top-pad=1M "$pid"
row_is 0 $threshold "not_in_force other_value 131072 65536 65536"
row_is 0 glibc.malloc.top_pad "not_in_force not_set 1048576 null 131072"
finish

# Nothing is set: the threshold has moved by itself.
start "$settings" move
check 1 "" verify "$pid"
grep -q "mmap_threshold *20,975,616  moved up by glibc" out || fail "moved: $(cat out)"
grep -q "^nothing is set$" out || fail "nothing: $(cat out)"
finish

# Misspelt, and beyond what glibc takes.
start GLIBC_TUNABLES=glibc.malloc.mmap_treshold=65536:glibc.malloc.perturb=256 MALLOC_TOP_PAD=4096 "$settings" plain
check 1 "" verify --format=json --mmap-threshold=64K --top-pad=4K "$pid"
row_is 0 glibc.malloc.mmap_treshold "not_in_force misspelt 65536 65536 null"
row_is 0 glibc.malloc.perturb "not_in_force refused 256 256 null"
row_is 0 MALLOC_TOP_PAD "not_in_force misspelt 4096 4096 null"
row_is 0 $threshold "not_in_force misspelt 65536 null 131072"
row_is 0 glibc.malloc.top_pad "not_in_force misspelt 4096 null 131072"
jq -r '.processes[0].settings[].explanation' out | grep -q "; MALLOC_TOP_PAD_ is meant" || fail "meant: $(cat out)"
finish

# Set when the process had started.
start "$settings" setenv
check 1 "" verify --format=json "$pid"
row_is 0 $threshold "not_in_force set_after_start 65536 null 131072"
finish
start python3 -c '
import os, sys
os.environ["GLIBC_TUNABLES"] = "glibc.malloc.mmap_threshold=65536"
print("ready", flush=True)
sys.stdin.read()'
check 1 "" verify --format=json "$pid"
[[ $(row 0 $threshold) == "not_in_force set_after_start 65536 null "* ]] || fail "os.environ: $(cat out)"
finish

# The program's own mallopt.
start GLIBC_TUNABLES=$threshold=65536 "$settings" mallopt
check 1 "" verify --format=json "$pid"
row_is 0 $threshold "not_in_force overridden 65536 65536 1048576"
finish
# And where it is what was wanted, it is in force.
start "$settings" mallopt
check 0 "" verify --format=json --mmap-threshold=1M "$pid"
row_is 0 $threshold "in_force null 1048576 null 1048576"
finish

# Another allocator.
start LD_PRELOAD=libjemalloc.so.2 GLIBC_TUNABLES=$threshold=65536 "$settings" plain
check 1 "" verify --format=json "$pid"
row_is 0 $threshold "not_in_force other_allocator 65536 65536 null"
[[ $(jq -r '.processes[0].allocator' out) == *libjemalloc.so.2 ]] || fail "allocator: $(cat out)"
finish

# A worker that did not inherit, and one that did.
start GLIBC_TUNABLES=$threshold=65536 "$settings" child env -i "$settings" plain
check 1 "" verify --format=json "$pid"
row_is 0 $threshold "in_force null 65536 65536 65536"
row_is 1 $threshold "not_in_force not_inherited 65536 null 131072"
worker=$(jq .processes[1].pid out)
check 1 "" verify --format=json "$worker"
row_is 0 $threshold "not_in_force not_inherited 65536 null 131072"
finish
start GLIBC_TUNABLES=$threshold=65536 "$settings" child "$settings" plain
check 0 "" verify --format=json "$pid"
row_is 1 $threshold "in_force null 65536 65536 65536"
finish

# Statically linked: not known, and why.
start GLIBC_TUNABLES=$threshold=65536 "${settings}_static" plain
check 1 "" verify --format=json "$pid"
row_is 0 $threshold "unknown static 65536 65536 null"
finish

# A process with another root, and a glibc of its own.
if [[ $EUID == 0 ]]; then
  install -D "$settings" other/settings
  install -D -t other/lib/x86_64-linux-gnu /lib/x86_64-linux-gnu/libc.so.6 /lib64/ld-linux-x86-64.so.2
  install -D -t other/lib64 /lib64/ld-linux-x86-64.so.2
  start GLIBC_TUNABLES=$threshold=65536 /usr/sbin/chroot "$PWD/other" /settings plain
  check 0 "" verify --format=json "$pid"
  row_is 0 $threshold "in_force null 65536 65536 65536"
  # An update puts another file there: what is in it says nothing of this process.
  install /lib/x86_64-linux-gnu/libc.so.6 other/new
  mv other/new other/lib/x86_64-linux-gnu/libc.so.6
  check 0 "" verify --format=json "$pid"
  row_is 0 $threshold "by_environment null 65536 65536 null"
  jq -r '.processes[0].settings[0].explanation' out | grep -q "libc.so.6 has been replaced since" || fail "replaced: $(cat out)"
  finish
fi

# Secure execution, which root alone can set up, where there are other users; seen by
# root, and by a user who may not look.
stranger="setpriv --reuid=65534 --clear-groups"
if $stranger true 2>/dev/null; then
  public=$(mktemp -d /tmp/verify_command_test.XXXXXX)
  trap 'rm -rf "$public"' EXIT
  chmod 755 "$public"
  install -D -m 755 "$heaptape" "$public/bin/heaptape"
  install -D -m 755 -t "$public/libexec/heaptape" "$root/verifier/witness/heaptape-witness" \
    "$root/replayer/engine/heaptape-engine"
  install -D -m 755 -t "$public/lib/heaptape" "$root/verifier/probe/libheaptape-probe.so"
  install -m 4755 "$settings" "$public/setuid"
  start GLIBC_TUNABLES=$threshold=65536:glibc.malloc.top_pad=4096 $stranger "$public/setuid" plain
  check 1 "" verify --format=json "$pid"
  row_is 0 $threshold "not_in_force secure_execution 65536 65536 131072"
  row_is 0 glibc.malloc.top_pad "not_in_force secure_execution 4096 4096 131072"
  $stranger "$public/bin/heaptape" verify --mmap-threshold=64K "$pid" >out 2>err
  [[ $? == 1 && $(cat err) == "heaptape: process $pid is another user's; run this as root, or as that user" ]] ||
    fail "a process that may not be read: $(cat out err)"
  finish
  # Where it is started by us, what is known of it is told.
  GLIBC_TUNABLES=$threshold=65536 $stranger "$public/bin/heaptape" verify --format=json -- \
    sh -c "sleep 0.3 | $public/setuid plain >/dev/null" 2>out
  [[ $(jq -r '.processes[] | select(.program == "setuid") | .settings[0].cause' out) == unreadable ]] ||
    fail "a set-user-id program in a command: $(cat out)"
else
  echo "not tried: set-user-id programs, since there is no other user here"
fi

# A command: its output is its own, what it runs is looked at from inside, its end told.
export GLIBC_TUNABLES=$threshold=65536:glibc.malloc.mxfast=64
check 0 "" verify --format=json -o report -- "$settings" plain </dev/null
[[ $(cat out) == ready ]] || fail "the command's output: $(cat out)"
cp report out
row_is 0 $threshold "in_force null 65536 65536 65536"
row_is 0 glibc.malloc.mxfast "in_force null 64 64 null"
[[ $(jq '.processes[0] | .probed_itself, .parameters.max_n_mmaps' out | xargs) == "true 0" ]] ||
  fail "what the probe did is no part of it: $(cat out)"
[[ $(jq '.exit_status, (.processes | length)' out | xargs) == "0 1" ]] ||
  fail "from inside: $(cat out)"
check 1 "" verify --format=json -o report -- "$settings" mallopt </dev/null
cp report out
row_is 0 $threshold "not_in_force overridden 65536 65536 1048576"
# A worker that was forked, and then called mallopt: the process that forked it did not.
check 1 "" verify --format=json -o report -- "$settings" worker </dev/null
cp report out
row_is 0 $threshold "in_force null 65536 65536 65536"
row_is 1 $threshold "not_in_force overridden 65536 65536 1048576"
"$heaptape" verify -o report -- env LD_PRELOAD=libjemalloc.so.2 sleep 0.3
grep -q "libjemalloc.so.2 serves malloc" report || fail "another allocator in a command: $(cat report)"
# Also where the shell that a process was before is what is seen of it first.
"$heaptape" verify --format=json -o report -- sh -c "(sleep 0.1; exec $settings plain </dev/null); true"
cp report out
[[ $(jq -r "[.processes[].program | select(endswith(\"settings\"))] | length" out) == 1 ]] || fail "what it became: $(cat out)"
"$heaptape" verify --format=json -o report -- sh -c "env -i sleep 0.3; true"
cp report out
row_is 0 $threshold "in_force null 65536 65536 65536"
row_is 1 $threshold "not_in_force not_inherited 65536 null 131072"
# A process is what it became.
check 1 "" verify --format=json -o report -- env -i sleep 0.3
cp report out
[[ $(jq '.processes | length' out) == 1 ]] || fail "env is no process of its own: $(cat out)"
row_is 0 $threshold "not_in_force not_inherited 65536 null 131072"
unset GLIBC_TUNABLES
# An expectation that nothing meets, tried out; and settings that the command makes itself.
check 1 "" verify --format=json -o report --mmap-threshold=64K --tunable=glibc.malloc.mxfast=32 -- "$settings" plain </dev/null
cp report out
row_is 0 $threshold "not_in_force not_set 65536 null 131072"
row_is 0 glibc.malloc.mxfast "not_in_force not_set 32 null null"
check 0 "" verify -o report --mmap-threshold=64K -- env GLIBC_TUNABLES=$threshold=65536 "$settings" plain </dev/null
check 1 "" verify --format=json -o report -- "$settings" setenv </dev/null
cp report out
row_is 0 $threshold "not_in_force set_after_start 65536 null 131072"

# The program has the heap that it would have had: an empty one.
"$heaptape" verify -o report -- python3 -c '
import ctypes
class Info(ctypes.Structure):
    _fields_ = [(n, ctypes.c_size_t) for n in "arena ordblks smblks hblks hblkhd usmblks fsmblks uordblks fordblks keepcost".split()]
f = ctypes.CDLL(None).mallinfo2
f.restype = Info
print(f().uordblks < 50000000, len(__import__("os").listdir("/proc/self/task")))
try:
    __import__("os").wait()
except ChildProcessError:
    print("no child")' >out
[[ $(cat out) == "True 1"$'\n'"no child" ]] || fail "the probe is felt: $(cat out)"

check 1 "heaptape: there is no process 99999999" verify 99999999
check 1 "heaptape: /nonexistent: cannot be started: No such file or directory" verify -- /nonexistent
check 2 "heaptape: verify: PID\|COMMAND is required .*" verify
check 2 "heaptape: verify: glibc.malloc.mmap_max=99999999999 is out of range.*" verify --mmap-max=99999999999 1

exit $((failures > 0))
