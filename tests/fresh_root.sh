#!/bin/bash
# SPDX-License-Identifier: MIT
# For scripts that source it: a fresh Debian 12 in a folder, as root. Sets `root` and removes it at the end of the script,
# with all that runs in it by its own namespaces. Needs this machine's own access to Debian's packages.
# Usage: source fresh_root.sh; make_root [BASE.tar]     BASE.tar: kept between runs, made if it is not there
root=$(mktemp -d /var/tmp/fresh-debian.XXXXXX)

cleanup_root() {
  local mount
  for mount in dev/pts dev sys proc; do
    if mountpoint -q "$root/$mount"; then umount -R --lazy "$root/$mount"; fi
  done
  rm -rf --one-file-system "$root"
}
trap cleanup_root EXIT
trap 'exit 130' INT TERM

make_root() {
  local base=${1:-} mirror list
  if [ -n "$base" ] && [ -f "$base" ]; then
    tar -C "$root" -xf "$base"
  else
    # Not every machine has all of these files, and sed says so by its status.
    mirror=$({ sed -n -E 's/^(URIs:|deb) +(\[[^]]*\] +)?(http[^ ]*debian)\/? ?.*$/\3/p' /etc/apt/sources.list /etc/apt/sources.list.d/*.sources /etc/apt/sources.list.d/*.list 2>/dev/null || true; } | head -n 1)
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
}

# Runs a command in the folder, with nothing of this machine's environment but how it reaches the network.
in_root() {
  env -i PATH=/usr/sbin:/usr/bin:/sbin:/bin HOME=/root TERM=dumb LANG=C.UTF-8 DEBIAN_FRONTEND="${DEBIAN_FRONTEND:-}" \
    ${http_proxy:+http_proxy="$http_proxy"} ${https_proxy:+https_proxy="$https_proxy"} chroot "$root" "$@"
}
