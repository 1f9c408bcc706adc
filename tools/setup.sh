#!/bin/bash
# Installs what the build and the tools need on Debian 12, and, with --tests, what
# the tests run besides. Harmless to repeat.
# usage: tools/setup.sh [--tests]
set -euo pipefail

packages=(
  # The build: Bazel 4, which is Debian's, and a compiler.
  bazel-bootstrap
  binutils
  g++

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

  # What scripts run.
  jq
  python3
)
# npm comes with nodejs where that is not Debian's.
command -v npm >/dev/null || packages+=(nodejs npm)

if [[ ${1:-} == --tests ]]; then
  packages+=(
    gcc-multilib
    python3-protobuf
    strace
    systemd
    time
    unzip
    zstd

    # Allocators that --allocator knows by name.
    libjemalloc2
    libmimalloc2.0
    libtcmalloc-minimal4

    # Programs that are recorded, and one that opens reports.
    chromium
    git
    nodejs
    redis-server
    ruby
    sqlite3
  )
fi

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
  # Without a sync for each of some hundred small files; what is lost in a crash
  # is installed again.
  apt-get install -qq --no-install-recommends -o Dpkg::Options::=--force-unsafe-io "${missing[@]}" >/dev/null
fi

# What the HTML report embeds, as the lock file has it: version and contents.
web=$(dirname "$0")/../analysis/web
if ! cmp -s "$web/package-lock.json" "$web/node_modules/.installed"; then
  echo "setup: installing what analysis/web/package.json names"
  npm ci --prefix "$web" --ignore-scripts --no-audit --no-fund --loglevel=error >/dev/null
  cp "$web/package-lock.json" "$web/node_modules/.installed"
fi
echo "setup: done"
