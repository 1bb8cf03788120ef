#!/bin/bash
# SPDX-License-Identifier: MIT
# The README's commands on a machine that has nothing: a fresh Debian 12 in a folder (debootstrap), with make, git and
# ca-certificates. Needs root and this machine's own access to Debian's packages. Everything made here is removed at the end.
# Usage: fresh_debian.sh [BASE.tar]     BASE.tar: kept between runs, made if it is not there
set -eu -o pipefail
source=$(cd "$(dirname "$0")/.." && pwd)
# shellcheck source=tests/fresh_root.sh
. "$source/tests/fresh_root.sh"
make_root "${1:-}"

git clone -q "$source" "$root/root/mapbalance"
run() {
  echo "=== $*"
  local start=$SECONDS
  in_root sh -c 'cd /root/mapbalance && exec "$@"' sh "$@"
  echo "=== done in $((SECONDS - start)) s: $*"
}
run make demo ONCE=1
run make demo ONCE=1 EVERYWHERE=1
run make test
run make clean
leftover=$(chroot "$root" git -C /root/mapbalance status --porcelain)
[ -z "$leftover" ] || { echo "left in the source tree: $leftover"; exit 1; }
echo "fresh Debian: fine"
