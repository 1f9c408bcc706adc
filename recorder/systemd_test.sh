#!/usr/bin/env bash
# The unit file in README.md, under a systemd: one that is process 1 of namespaces of its
# own, so that the machine's is neither needed nor touched.
# usage: systemd_test.sh README INTERPOSER HEAPTAPE PROGRAM
set -euo pipefail

systemd=/lib/systemd/systemd
[[ -x $systemd ]] || { echo "skipped: no systemd is installed"; exit 0; }
unshare --mount --pid --cgroup --fork true 2>/dev/null || { echo "skipped: cannot make namespaces here"; exit 0; }

readme=$PWD/$1 interposer=$(realpath "$2") heaptape=$PWD/$3 program=$(realpath "$4")
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
mkdir "$work/state"
cd "$work"

# What the README tells, with the places of this test, in a unit that may write nowhere else.
{
  sed -n '/^    \[Service\]$/,/^$/s/^    //p' "$readme" |
    sed "s|/opt/heaptape/lib/heaptape/libheaptape.so|$interposer|; s|/var/lib/heaptape|$work/state|"
  echo "Type=oneshot"
  echo "ProtectSystem=strict"
  echo "ExecStart=$program 4 20000"
} >app.service
grep -q "^Environment=LD_PRELOAD=$interposer\$" app.service
sed -i '1i [Unit]\nDefaultDependencies=no\n' app.service

cat >end.service <<END
[Unit]
DefaultDependencies=no
Wants=app.service
After=app.service

[Service]
Type=oneshot
ExecStart=/bin/sh -c "systemctl show --property=Result,ExecMainStatus app.service >$work/result; systemctl --force --force poweroff"
END

cat >start.sh <<END
mount --make-rprivate /
mount -t tmpfs none /run
umount -l /sys/fs/cgroup
mount -t cgroup2 none /sys/fs/cgroup
mkdir -p /run/systemd/system
cp app.service end.service /run/systemd/system
exec env -i container=test PATH=/usr/sbin:/usr/bin:/sbin:/bin $systemd --system --unit=end.service
END
timeout 60 unshare --mount --pid --cgroup --fork --mount-proc sh start.sh >log 2>&1 || true

if [[ ! -s result ]]; then
  echo "skipped: systemd does not start here:"
  tail -3 log
  exit 0
fi
cat result
grep -q '^Result=success$' result
grep -q '^ExecMainStatus=0$' result

"$heaptape" collect state/app -o t.heaptape
"$heaptape" info t.heaptape >info
grep -q '^  health *complete$' info
calls=$("$heaptape" cat t.heaptape | grep -c malloc)
echo "$calls calls of malloc"
((calls > 50000))
