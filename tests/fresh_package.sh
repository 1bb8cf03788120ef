#!/bin/bash
# SPDX-License-Identifier: MIT
# The Debian packages on a machine that has nothing: README's three commands, a real map through the balancer, and after
# apt-get purge no file, user, process or listening port. In a fresh Debian 12 folder and in namespaces of its own, so
# that its Apache is on port 80 and nobody else's. Needs root and this machine's own access to Debian's packages.
# Usage: fresh_package.sh FOLDER [BASE.tar]     FOLDER: where make deb put the packages
set -eu -o pipefail
source=$(cd "$(dirname "$0")/.." && pwd)
packages=$(cd "${1:?usage: fresh_package.sh FOLDER [BASE.tar]}" && pwd)
# shellcheck source=tests/fresh_root.sh
. "$source/tests/fresh_root.sh"
make_root "${2:-}"

mkdir -p "$root/root/packages" "$root/srv/map"
cp "$packages"/mapbalance_*.deb "$packages"/loadprobe_*.deb "$root/root/packages/"
cp -r "$source/tests/data/world" "$source/tests/data/fonts" "$root/srv/map/"
sed 's|@BALANCER@||' "$source/tests/data/world.map" > "$root/srv/map/world.map"
sed 's|@DATA@|/srv/map|' "$source/tests/data/mapserver.conf.in" > "$root/srv/map/mapserver.conf"
cp "$source/tests/fresh_package_inside.sh" "$root/root/inside.sh"

echo "=== fetching"
export DEBIAN_FRONTEND=noninteractive
in_root sh -ec 'apt-get -q update; apt-get -q install -y -d /root/packages/*.deb; apt-get -q install -y -d --no-install-recommends cgi-mapserver curl iproute2' > "$root/root/fetch.log" 2>&1 ||
  { tail -n 20 "$root/root/fetch.log"; exit 1; }
echo "=== in namespaces of its own"
export root
export -f in_root
# shellcheck disable=SC2016 # the inner shell expands
unshare --net --pid --fork --mount --kill-child bash -ec '
  ip link set lo up
  mount -t proc proc "$root/proc"
  in_root bash /root/inside.sh'
echo "fresh package: fine"
