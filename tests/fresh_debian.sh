#!/bin/bash
# SPDX-License-Identifier: MIT
# The README's commands on a machine that has nothing: a fresh Debian 12 in a folder (debootstrap), with make, git and
# ca-certificates. Needs root and this machine's own access to Debian's packages. Everything made here is removed at the end.
# Usage: fresh_debian.sh [BASE.tar]     BASE.tar: kept between runs, made if it is not there
set -eu -o pipefail
base=${1:-}
source=$(cd "$(dirname "$0")/.." && pwd)
root=$(mktemp -d /var/tmp/fresh-debian.XXXXXX)

cleanup() {
  for mount in dev/pts dev sys proc; do
    if mountpoint -q "$root/$mount"; then umount -R --lazy "$root/$mount"; fi
  done
  rm -rf --one-file-system "$root"
}
trap cleanup EXIT
trap 'exit 130' INT TERM

if [ -n "$base" ] && [ -f "$base" ]; then
  tar -C "$root" -xf "$base"
else
  mirror=$(sed -n -E 's/^(URIs:|deb) +(\[[^]]*\] +)?(http[^ ]*debian)\/? ?.*$/\3/p' /etc/apt/sources.list /etc/apt/sources.list.d/*.sources /etc/apt/sources.list.d/*.list 2>/dev/null | head -n 1)
  debootstrap --variant=minbase --include=make,git,ca-certificates bookworm "$root" "${mirror:?no Debian mirror in this machine\'s apt sources}" > "$root.log" 2>&1 || { tail "$root.log"; exit 1; }
  rm -f "$root.log"
  if [ -n "$base" ]; then tar -C "$root" -cf "$base" .; fi
fi
# How this machine reaches its packages is its own business: the same way serves the folder.
cp -a /etc/apt/apt.conf.d/. "$root/etc/apt/apt.conf.d/"
rm -f "$root"/etc/apt/apt.conf.d/*autoremove* "$root"/etc/apt/apt.conf.d/*packagekit* "$root"/etc/apt/apt.conf.d/*appstream*
for list in /etc/apt/sources.list.d/debian*; do [ -e "$list" ] && cp -a "$list" "$root/etc/apt/sources.list.d/"; done
cp -a /usr/share/keyrings/debian-archive-*.gpg "$root/usr/share/keyrings/" 2>/dev/null || true
cp /etc/resolv.conf /etc/hosts "$root/etc/" 2>/dev/null || true

mount -t proc proc "$root/proc"
mount --rbind /sys "$root/sys"
mount --make-rslave "$root/sys"
mount --rbind /dev "$root/dev"
mount --make-rslave "$root/dev"

git clone -q "$source" "$root/root/mapbalance"
run() {
  echo "=== $*"
  local start=$SECONDS
  env -i PATH=/usr/sbin:/usr/bin:/sbin:/bin HOME=/root TERM=dumb LANG=C.UTF-8 ${http_proxy:+http_proxy="$http_proxy"} ${https_proxy:+https_proxy="$https_proxy"} \
    chroot "$root" sh -c 'cd /root/mapbalance && exec "$@"' sh "$@"
  echo "=== done in $((SECONDS - start)) s: $*"
}
run make demo ONCE=1
run make demo ONCE=1 EVERYWHERE=1
run make test
run make clean
leftover=$(chroot "$root" git -C /root/mapbalance status --porcelain)
[ -z "$leftover" ] || { echo "left in the source tree: $leftover"; exit 1; }
echo "fresh Debian: fine"
