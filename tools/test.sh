#!/usr/bin/env bash
# Installs what is needed, runs every test, and ends with one line:
#   N passed, N failed
set -euo pipefail
cd "$(dirname "$0")/.."

tools/setup.sh --tests

# Traces of real programs that the project does not contain; tests that want them
# are skipped, with a reason, where they are not there.
shared=$(cd .. && pwd)/shared
[ -d "$shared" ] && export HEAPTAPE_SHARED=$shared

log=$(mktemp)
trap 'rm -f "$log"' EXIT
status=0
bazel test -c opt //... --test_env=HEAPTAPE_SHARED --noshow_progress --color=no 2>&1 | tee "$log" || status=$?

passed=$(grep -cE '^//\S+ +(\(cached\) )?PASSED' "$log" || true)
failed=$(grep -cE '^//\S+ +(\(cached\) )?(FAILED|TIMEOUT|NO STATUS|INCOMPLETE)' "$log" || true)
# Bazel cannot ask itself about its own graph in a test.
if tools/check_layers.sh; then passed=$((passed + 1)); else failed=$((failed + 1)); fi

# A build that broke has run nothing, and must not look like success.
if [ "$status" -ne 0 ] && [ "$failed" -eq 0 ]; then failed=1; fi
if [ "$passed" -eq 0 ] && [ "$failed" -eq 0 ]; then failed=1; fi

echo "$passed passed, $failed failed"
[ "$failed" -eq 0 ]
