#!/bin/sh
# SPDX-License-Identifier: MIT
# Every manual page is clean mdoc, every page that a page refers to is either ours or of the system's usual ones.
set -u
status=0
for page in man/*.[1-8]; do
  complaints=$(mandoc -T lint -W style "$page" 2>&1 | grep -v -e 'referenced manual not found' -e 'outdated mandoc.db')
  [ -z "$complaints" ] || { printf '%s\n' "$complaints"; status=1; }
done
known='cgroups.7 lighttpd.1 proc.5 prometheus-node-exporter.1 rup.1 sock_diag.7 spawn-fcgi.1 ss.8'
known="$known sysusers.d.5 tmpfiles.d.5"
unknown=$(sed -n 's/^\.Xr \([^ ]*\) \([1-9]\).*/\1.\2/p' man/*.[1-8] | sort -u | while read -r page; do
  [ -e "man/$page" ] && continue
  case " $known " in
    *" $page "*) ;;
    *) echo "a page refers to $page; wanted one of man/ or of the system's usual ones" ;;
  esac
done)
[ -z "$unknown" ] || { printf '%s\n' "$unknown"; status=1; }
# A table whose cells do not fit 80 columns comes out as garbage in a terminal. mandoc does not tell, groff does.
if command -v groff > /dev/null; then
  for page in man/*.[1-8]; do
    torn=$(groff -mdoc -Tutf8 -ww -rLL=78n -K utf8 "$page" 2>&1 > /dev/null | grep "can't break line")
    [ -z "$torn" ] || { printf '%s: a table is wider than 80 columns:\n%s\n' "$page" "$torn"; status=1; }
  done
fi
[ "$status" -eq 0 ] && echo "manual pages: fine"
exit "$status"
