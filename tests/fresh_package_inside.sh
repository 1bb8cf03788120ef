#!/bin/bash
# SPDX-License-Identifier: MIT
# The part of fresh_package.sh that runs inside of the folder. Usage: none by hand.
set -eu -o pipefail
failed=0
passed=0
check() { # WHAT COMMAND...
  local what=$1
  shift
  if "$@"; then
    echo "passed: $what"
    passed=$((passed + 1))
  else
    echo "FAILED: $what"
    failed=$((failed + 1))
  fi
}
quietly() { "$@" > /root/last.log 2>&1 || { tail -n 30 /root/last.log; return 1; }; }

# --- what an administrator does on the balancer: README's three commands -------------------------------------------------
echo "=== three commands"
quietly apt-get install -y /root/packages/mapbalance_*.deb # Apache comes along as recommended
sed -i '1i host = pinchot http://127.0.0.1:8081\nhost = leopold http://127.0.0.1:8082' /etc/balance/balance.conf
quietly sh -c 'a2enmod cgid && a2enconf mapbalance && service apache2 restart'

# --- two map hosts on this machine, and what lets us look at it ----------------------------------------------------------
echo "=== map hosts"
quietly apt-get install -y --no-install-recommends cgi-mapserver curl iproute2
cat > /etc/apache2/conf-available/zz-hosts.conf <<'CONF'
Listen 127.0.0.1:8081
Listen 127.0.0.1:8082
<VirtualHost 127.0.0.1:8081 127.0.0.1:8082>
  SetEnv MAPSERVER_CONFIG_FILE /srv/map/mapserver.conf
  ScriptAlias "/cgi-bin/mapserv" "/usr/lib/cgi-bin/mapserv"
</VirtualHost>
CONF
quietly sh -c 'a2enconf zz-hosts && service apache2 restart'
snapshot() { find / -xdev \( -path /proc -o -path /sys -o -path /dev -o -path /var/cache -o -path /var/lib/apt -o -path /root -o -path /run/apache2 \) -prune -o -print | sort > "$1"; }
processes() { cat /proc/[0-9]*/comm 2> /dev/null | grep -vxE 'cat|grep|sort|bash' | sort -u; }
ports() { ss -Hltun | awk '{print $1, $5}' | sort -u; }

quietly apt-get install -y /root/packages/loadprobe_*.deb
setsid /usr/sbin/loadprobe > /root/loadprobe.log 2>&1 < /dev/null & # nothing here is systemd: as its unit would
sleep 1

map='map=WORLD&mode=map&layers=countries&mapsize=200+100'
ask() { curl -s -o /root/answer -w '%{http_code} %{redirect_url} %{content_type}' "$@"; }
use() {
  check "the balancer redirects to a host" sh -c "curl -s -o /dev/null -w '%{http_code} %{redirect_url}' 'http://127.0.0.1/cgi-bin/mapserv?$map' | grep -q '^302 http://127.0.0.1:808[12]/cgi-bin/mapserv?map=WORLD'"
  check "a map comes through it" test "$(ask -L "http://127.0.0.1/cgi-bin/mapserv?$map" | grep -o 'image/png')" = image/png
  check "it is a picture" test "$(head -c 8 /root/answer | od -An -tx1 | tr -d ' \n')" = 89504e470d0a1a0a
  check "capabilities are relayed and name the balancer" sh -c "curl -s 'http://127.0.0.1/cgi-bin/mapserv?map=WORLD&service=WMS&request=GetCapabilities' | grep -q 'http://127.0.0.1:80/cgi-bin/mapserv\|http://127.0.0.1/cgi-bin/mapserv'"
  check "balancectl sees a live pool" sh -c 'balancectl status | tee /root/status | grep -q "^poolwatch  alive" || { cat /root/status; exit 1; }'
  check "two hosts are up" test "$(grep -cE '^(pinchot|leopold) +usable' /root/status)" = 2
  check "as the web server's user, in the shared folder" test "$(stat -c '%U %G %a' /run/balance/balance.conf.table)" = 'www-data mapbalance 660'
}
echo "=== use"
use
check "the unit is enabled" test -L /etc/systemd/system/multi-user.target.wants/loadprobe.service
check "loadprobe's manual is there" test -e /usr/share/man/man8/loadprobe.8.gz
check "installing again asks nothing and changes nothing" quietly dpkg -i /root/packages/mapbalance_*.deb /root/packages/loadprobe_*.deb
check "the edited configuration is kept" grep -q '^host = leopold' /etc/balance/balance.conf

purge() {
  check "purge" quietly apt-get purge -y mapbalance loadprobe
  check "no process is left" sh -c '! ls -l /proc/[0-9]*/exe 2>/dev/null | grep -E "balance|poolwatch|loadprobe"'
  check "no port is left" sh -c '! ss -Hltn | grep -E ":(9719)\b"'
  check "no user is left" sh -c '! getent passwd mapbalance'
  check "no group is left" sh -c '! getent group mapbalance'
  check "Apache serves on, without the balancer" test "$(ask "http://127.0.0.1/cgi-bin/mapserv?$map" | cut -c1-3)" != 302
}
echo "=== purge"
purge
find / -xdev \( -path /proc -o -path /sys -o -path /dev -o -path /root -o -path /var/cache -o -path /srv \) -prune -o \
  \( -name '*balance*' -o -name '*loadprobe*' -o -name '*poolwatch*' \) -print > /root/named
: > /root/ours
while read -r file; do dpkg -S "$file" > /dev/null 2>&1 || echo "$file" >> /root/ours; done < /root/named
# Apache's own links to its mod_proxy_balancer, and the diary of dpkg, are not of these packages.
sed -i -E '/(proxy_balancer|lbmethod)/d' /root/ours
check "no file is left: $(tr '\n' ' ' < /root/ours)" test ! -s /root/ours
grep -rlE 'mapbalance|loadprobe|poolwatch' /etc /run /tmp /var/lib --exclude-dir=apt --exclude='status*' --exclude='*-old' --exclude='*-' --exclude-dir=dpkg > /root/mentions 2> /dev/null || true
check "no file mentions them: $(tr '\n' ' ' < /root/mentions)" test ! -s /root/mentions

# --- the same once more: what now is there was there before --------------------------------------------------------------
echo "=== once more"
snapshot /root/before
processes > /root/processes-before
ports > /root/ports-before
quietly apt-get install -y /root/packages/mapbalance_*.deb /root/packages/loadprobe_*.deb
sed -i '1i host = pinchot http://127.0.0.1:8081\nhost = leopold http://127.0.0.1:8082' /etc/balance/balance.conf
quietly sh -c 'a2enmod cgid && a2enconf mapbalance && service apache2 restart'
setsid /usr/sbin/loadprobe > /root/loadprobe.log 2>&1 < /dev/null &
sleep 1
use
purge
snapshot /root/after
check "the same files as before" quietly diff /root/before /root/after
processes > /root/processes-after
check "the same processes as before" quietly diff /root/processes-before /root/processes-after
ports > /root/ports-after
check "the same ports as before" quietly diff /root/ports-before /root/ports-after

echo "$passed passed, $failed failed"
[ "$failed" -eq 0 ]
