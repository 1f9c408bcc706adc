#!/bin/bash
# Installs what the build, the tests and the tools need on Debian 12. Harmless to repeat.
set -euo pipefail

packages=(
  # The build: Bazel 4, which is Debian's, and a compiler.
  bazel-bootstrap
  binutils
  g++
  unzip

  # Libraries.
  libabsl-dev
  libarchive-dev
  libbenchmark-dev
  libcli11-dev
  libgmock-dev
  libgtest-dev
  libprotobuf-dev
  libzstd-dev
  nlohmann-json3-dev
  protobuf-compiler

  # Allocators that --allocator knows by name.
  libjemalloc2
  libmimalloc2.0
  libtcmalloc-minimal4

  # Programs that tests and scripts run.
  sqlite3
  ruby
  redis-server
  nodejs
  git
  jq
  python3
  python3-protobuf
  strace
  time
  zstd
)

# npm comes with nodejs where that is not Debian's.
command -v npm >/dev/null || packages+=(nodejs npm)

missing=()
for package in "${packages[@]}"; do
  # A package that was removed is still known to dpkg, so its status is what counts.
  status=$(dpkg-query --show --showformat='${db:Status-Status}' "$package" 2>/dev/null || true)
  [[ $status == installed ]] || missing+=("$package")
done

if ((${#missing[@]} > 0)); then
  if ((EUID != 0)); then
    echo "setup: not root; run: sudo apt-get install --no-install-recommends ${missing[*]}" >&2
    exit 1
  fi
  export DEBIAN_FRONTEND=noninteractive
  echo "setup: updating the package lists"
  apt-get update -qq
  echo "setup: installing ${missing[*]}"
  apt-get install -qq --no-install-recommends "${missing[@]}" >/dev/null
fi

# What the HTML report embeds, as the lock file has it: version and contents.
web=$(dirname "$0")/../analysis/web
if ! cmp -s "$web/package-lock.json" "$web/node_modules/.installed"; then
  echo "setup: installing what analysis/web/package.json names"
  npm ci --prefix "$web" --ignore-scripts --no-audit --no-fund --loglevel=error >/dev/null
  cp "$web/package-lock.json" "$web/node_modules/.installed"
fi
echo "setup: done"
