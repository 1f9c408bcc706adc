#!/bin/sh
# What runs in other people's programs needs libc alone; the probe stands in for
# mallopt alone, and the witness needs of libc what every version has.
set -eu
probe=$1
witness=$2

for file in "$probe" "$witness"; do
  needed=$(readelf -d "$file" | sed -n 's/.*(NEEDED).*\[\(.*\)\]/\1/p')
  for library in $needed; do
    case $library in
      libc.so.6 | ld-linux-x86-64.so.2) ;;
      *) echo "$file needs $library" && exit 1 ;;
    esac
  done
done

exports=$(readelf -W --dyn-syms "$probe" | awk '$4 == "FUNC" && $7 != "UND" && $5 != "LOCAL" {print $8}' | xargs)
[ "$exports" = mallopt ] || {
  echo "the probe exports $exports"
  exit 1
}
newer=$(readelf -W --dyn-syms "$witness" | grep GLIBC_ | grep -v 'GLIBC_2\.2\.5' || true)
[ -z "$newer" ] || {
  echo "the witness needs $newer"
  exit 1
}
