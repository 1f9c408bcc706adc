#!/bin/bash
# The command as a person meets it: what it prints where, and its exit status.
set -u
source tools/command_check.sh "$1"

# Usage.
check 0 "" --help
check 0 "" --version
check 0 "" info --help
check 2 "heaptape: what is to be done\? \(see heaptape --help\)"
check 2 "heaptape: there is no command \"inof\"; did you mean \"info\"\? .*" inof x
check 2 "heaptape: info: TRACE is required .*" info
check 2 "heaptape: info: unexpected --fromat=json; did you mean --format\? .*" info --fromat=json x
check 2 "heaptape: info: --format: xml .*" info --format=xml x
check 2 "heaptape: import: --cpus: .*" import --from=android x -o y --cpus=0
expect ""
check 1 "heaptape: nowhere: cannot open the trace: No such file or directory" info nowhere

# A trace of another recorder, there and back.
cat >in.txt <<'END'
7: malloc 0x1000 100
7: realloc 0x2000 0x1000 200 55 60
8: free 0x2000
8: thread_done 0x0
END
check 0 "" import --from=android in.txt -o t.heaptape
expect ""
check 0 "" cat t.heaptape
expect "1 t0 thread_start(tid 7)
2 t0 malloc(100) = 0x1000
3 t0 realloc(0x1000, 200) = 0x2000
4 t1 thread_start(tid 8)
5 t1 free(0x2000)
6 t1 thread_end()
"
check 0 "" cat t.heaptape --from=2 --until=3
expect "2 t0 malloc(100) = 0x1000
3 t0 realloc(0x1000, 200) = 0x2000
"
check 0 "" info --format=json t.heaptape
[[ $(jq -r '"\(.events) \(.threads) \(.complete) \(.header.pointer_bytes) \(.header.cpus)"' out) == "6 2 true 4 8" ]] ||
  { echo "info: $(cat out)"; failures=$((failures + 1)); }

# Nothing is overwritten, and a bad line leaves nothing behind.
check 1 "heaptape: t.heaptape: cannot create the trace: File exists" import --from=android in.txt -o t.heaptape
echo "7: malloc 0x7f0000001000 1" >bad.txt
echo "7: mallok 0x1000 1" >>bad.txt
check 1 "heaptape: bad.txt:2: expected malloc, .*" import --from=android bad.txt -o bad.heaptape
[[ ! -e bad.heaptape ]] || { echo "a failed import left its output"; failures=$((failures + 1)); }

# A recording that broke off is a note; events lost from the middle are a failure.
head -c $(($(stat -c %s t.heaptape) - 3)) t.heaptape >torn.heaptape
check 0 "heaptape: torn.heaptape: was not closed; complete up to event 6" cat torn.heaptape
[[ $(wc -l <out) == 6 ]] || { echo "torn: $(cat out)"; failures=$((failures + 1)); }
for ((i = 0; i < 70000; ++i)); do echo "7: free 0x0"; done >in2.txt
check 0 "" import --from=android in2.txt -o long.heaptape
# The second frame holds the first batch: damage its first bytes behind the magic number.
offset=$(LC_ALL=C grep -obUaP '\x28\xb5\x2f\xfd' long.heaptape | sed -n '2s/:.*//p')
printf '\xff\xff\xff\xff' | dd of=long.heaptape bs=1 seek=$((offset + 8)) conv=notrunc status=none
check 1 "heaptape: long.heaptape: events 1 to 65536 are lost" cat long.heaptape
[[ $(head -1 out) == "65537 t0 free(0x0)" ]] || { echo "long: $(head -1 out)"; failures=$((failures + 1)); }

# Readers that stop early, and full disks.
"$heaptape" cat t.heaptape | head -1 >/dev/null
[[ ${PIPESTATUS[0]} == 0 || ${PIPESTATUS[0]} == 141 ]] || { echo "head: ${PIPESTATUS[*]}"; failures=$((failures + 1)); }
"$heaptape" cat t.heaptape >/dev/full 2>err && { echo "a full disk went unnoticed"; failures=$((failures + 1)); }
grep -q "cannot write to standard output" err || { echo "full: $(cat err)"; failures=$((failures + 1)); }

exit $((failures > 0))
