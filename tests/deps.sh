#!/bin/bash
# SPDX-License-Identifier: MIT
# Installs the Debian 12 packages that are missing; lists them first. An installed server does not start by it.
# Usage: deps.sh demo|full|clients|qgis|package      demo: to build and to run `make demo`; full: also all tests and lint;
#                                            clients: what `make test-clients` drives; qgis: what `make clients-qgis` does;
#                                            package: what `make deb` needs
# Exit status: 0 all there, 1 an installation failed, 2 something is missing and this is not root (what to do is said)
set -eu -o pipefail

demo=(g++ make pkg-config libboost-program-options-dev libcurl4-openssl-dev libfcgi-dev libgumbo-dev libmicrohttpd-dev
  cgi-mapserver mapserver-bin nginx-light python3 util-linux)
full=("${demo[@]}" apache2 chromium chromium-driver clang clang-format clang-tidy cppcheck curl fcgiwrap haproxy iproute2 libapache2-mod-fcgid
  libclang-rt-14-dev libgtest-dev lighttpd mandoc nftables openssl prometheus-node-exporter shellcheck spawn-fcgi systemd wrk)
clients=("${demo[@]}" apache2 chromium chromium-driver curl gdal-bin lighttpd mapcache-cgi mapcache-tools mapproxy nodejs
  python3-owslib python3-pil python3-requests wget)
command -v npm > /dev/null || clients+=(npm)  # some packages of nodejs bring it
package=(build-essential debhelper fakeroot libboost-program-options-dev libcurl4-openssl-dev libfcgi-dev libgtest-dev libgumbo-dev
  libmicrohttpd-dev lintian)
case ${1:-} in
  demo) wanted=("${demo[@]}") ;;
  full) wanted=("${full[@]}") ;;
  clients) wanted=("${clients[@]}") ;;
  qgis) wanted=("${demo[@]}" apache2 lighttpd python3-pil python3-qgis) ;;
  package) wanted=("${package[@]}") ;;
  *)
    echo "usage: deps.sh demo|full|clients|qgis|package" >&2
    exit 2
    ;;
esac

missing=()
for package in "${wanted[@]}"; do
  [ "$(dpkg-query -W -f '${db:Status-Status}' "$package" 2>/dev/null || true)" = installed ] || missing+=("$package")
done
if [ ${#missing[@]} -eq 0 ]; then exit 0; fi

echo "missing packages: ${missing[*]}"
if [ "$(id -u)" -ne 0 ]; then
  echo "as root: apt-get update && apt-get install --no-install-recommends ${missing[*]}"
  exit 2
fi

# Debian starts a server when it is installed, unless this file says no (101).
policy=/usr/sbin/policy-rc.d
if [ ! -e $policy ]; then
  trap 'rm -f $policy' EXIT
  trap 'exit 130' INT TERM
  printf '#!/bin/sh\nexit 101\n' > $policy
  chmod 755 $policy
fi
export DEBIAN_FRONTEND=noninteractive
apt-get update || exit 1
apt-get install -y --no-install-recommends "${missing[@]}" || exit 1
