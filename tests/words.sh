#!/bin/sh
# SPDX-License-Identifier: MIT
# Manual pages and completion know every option that a program's --help names and every key that its configuration has.
# Usage: words.sh BUILD
set -u
build=${1:-build}
status=0
missing() { echo "$1 does not mention $2"; status=1; }

for program in balance balance-relay poolwatch loadprobe balancectl; do
  page=man/$program.8
  for option in $("$build/bin/$program" --help 2>&1 | grep -oE '(^|[ ,])--[a-z][a-z-]+' | tr -d ' ,' | sort -u); do
    grep -qE "Fl -${option#--}( |$)" "$page" || missing "$page" "$option"
  done
done
for name in balance loadprobe; do
  page=$(for f in man/$name.conf.5 man/$name.8; do [ -f "$f" ] && { echo "$f"; break; }; done)
  # A key stands in etc/NAME.conf at the start of a line, possibly commented out as '#key = value'.
  section=
  sed -n -E 's/^#?(\[[a-z]+\]).*$/\1/p; s/^#?([a-z][a-z.-]*) = .*$/\1/p' "etc/$name.conf" | while read -r key; do
    case $key in
      \[*) section=${key#[}; section=${section%]} ;;
      *) grep -qE "(It|Ic|Cm|Va) .*$key" "$page" || echo "${section:+$section.}$key" ;;
    esac
  done > "$build/missing_keys"
  while read -r key; do missing "$page" "$key"; done < "$build/missing_keys"
  rm -f "$build/missing_keys"
done
[ "$status" -eq 0 ] && echo "words: fine"
exit "$status"
