#!/bin/bash
# embed.sh NAME FILE...: a C++ source that defines each NAME as the text of its FILE.
set -euo pipefail
echo '#include "analysis/web_files.h"'
echo 'namespace heaptape {'
while (($# > 1)); do
  echo "const char $1[] = R\"HEAPTAPE("
  cat "$2"
  echo ')HEAPTAPE";'
  shift 2
done
echo '}  // namespace heaptape'
