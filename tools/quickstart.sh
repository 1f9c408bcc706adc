#!/usr/bin/env bash
# From a bare Debian 12 to a hole report in a few minutes: installs what is
# needed, builds, records a real program, replays the recording as it was and
# with a lower mmap threshold, and prints both. May be run again.
set -euo pipefail
cd "$(dirname "$0")/.."

step() { printf '\n== %s\n' "$*"; }

step "Installing the packages that the build needs (apt)"
tools/setup.sh

step "Building and installing into ./quickstart"
tools/install.sh quickstart
heaptape=quickstart/bin/heaptape

step "Recording python3, a few seconds of parsing and printing its own library"
# PYTHONMALLOC=malloc: otherwise Python's own allocator hides most calls.
trace=quickstart/python.heaptape
rm -f "$trace"
PYTHONMALLOC=malloc "$heaptape" record -o "$trace" -- /usr/bin/python3 - <<'PYTHON'
import ast, json, os

kept = []
root = os.path.dirname(os.__file__)
for name in sorted(os.listdir(root))[:60]:
    if name.endswith(".py"):
        with open(os.path.join(root, name), encoding="utf-8") as source:
            tree = ast.parse(source.read())
        text = ast.unparse(tree)
        kept.append(json.loads(json.dumps(text.split("\n")))[::10])
        del tree, text
print(len(kept), "files read", flush=True)
os._exit(0)  # as a process that is killed: its heap is still there at the end
PYTHON

step "Replaying it under the settings it was recorded with"
"$heaptape" replay "$trace" | tee quickstart/recorded.txt

step "Replaying it under --mmap-threshold=65536"
"$heaptape" replay "$trace" --mmap-threshold=65536 | tee quickstart/threshold.txt

step "Both side by side"
# GNU diff knows how to set two texts next to each other.
diff --side-by-side --width=160 quickstart/recorded.txt quickstart/threshold.txt || true

step "The holes that are left at the end"
"$heaptape" holes "$trace" --top=10
