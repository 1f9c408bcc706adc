#!/bin/bash
# Predictions against the programs themselves; see fidelity.sh.
set -euo pipefail
if [[ ! -f ${HEAPTAPE_SHARED:-}/cases/patterns.c ]]; then
  echo "skipped: HEAPTAPE_SHARED does not name a directory with cases/patterns.c"
  exit 0
fi
HEAPTAPE=$PWD/$2 "$1" "$HEAPTAPE_SHARED/cases"
