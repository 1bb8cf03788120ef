#!/bin/sh
# SPDX-License-Identifier: MIT
# Proves the floors: includes go sideways or down, loadprobe/ never reaches into balance/, the libraries stay in their rooms, and
# the objects of floors 1 and 2 ask the system for nothing. Usage: floors.sh BUILD (after the programs were built there).
set -u
build=${1:-build}
faults=$(mktemp)
trap 'rm -f "$faults"' EXIT

# The floor of a file, by its room. loadprobe/ holds two floors: its pure files are named here.
floor_of='
function floor_of(path,   base) {
  base = path; sub(/\.(h|cc)$/, "", base)
  if (path ~ /_main\.cc$/) return 4
  if (base ~ /^balance\/ground\//) return 1
  if (base ~ /^balance\/forms\/(child|files|command)$/) return 3
  if (base ~ /^balance\/forms\//) return 1
  if (base ~ /^balance\/perl\/command$/) return 3
  if (base ~ /^balance\/perl\//) return 1
  if (base ~ /^balance\/pool\//) return 2
  if (base ~ /^balance\//) return 3
  if (base ~ /^loadprobe\/base\/(result|time|text|settings|network)$/) return 1
  if (base ~ /^loadprobe\/base\//) return 3
  if (pure != "" && index(pure, " " base " ")) return 1
  if (base ~ /^loadprobe\//) return 3
  return 9
}'
# In loadprobe/ a file that says "Floor 1" in its opening comment is held to it.
pure=" $(for f in loadprobe/*.h; do head -n 15 "$f" | grep -q 'Floor 1' && printf '%s ' "${f%.h}"; done)"

# shellcheck disable=SC2016 # $0 and the fields are awk's
find balance loadprobe -name '*.h' -o -name '*.cc' | sort | xargs awk -v pure="$pure" "$floor_of"'
  /^#include "/ {
    split($0, part, "\""); to = part[2]
    if (to !~ /^(balance|loadprobe)\//) next
    if (FILENAME ~ /^loadprobe\// && to ~ /^balance\//) print FILENAME ":" FNR ": loadprobe/ includes " to
    if (FILENAME ~ /^balance\// && to ~ /^loadprobe\// && to !~ /^loadprobe\/(base\/.*|report\.h)$/)
      print FILENAME ":" FNR ": balance/ includes " to " (of loadprobe only report.h and base/)"
    if (floor_of(to) > floor_of(FILENAME)) print FILENAME ":" FNR ": floor " floor_of(FILENAME) " includes " to " of floor " floor_of(to)
  }
  /^#include </ {
    if ($0 ~ /fcgi/ && FILENAME !~ /^balance\/front\//) print FILENAME ":" FNR ": libfcgi outside balance/front"
    if ($0 ~ /fcgi_stdio/) print FILENAME ":" FNR ": fcgi_stdio.h is never included"
    if ($0 ~ /curl\// && FILENAME !~ /^balance\/(watch|relay)\//) print FILENAME ":" FNR ": libcurl outside its rooms"
    if ($0 ~ /microhttpd/ && FILENAME !~ /^(loadprobe|balance\/watch)\//) print FILENAME ":" FNR ": libmicrohttpd outside its rooms"
    if ($0 ~ /gumbo/ && FILENAME !~ /^balance\/forms\//) print FILENAME ":" FNR ": gumbo outside balance/forms"
    if ($0 ~ /boost\// && FILENAME ~ /\.h$/) print FILENAME ":" FNR ": Boost in a header"
    if (floor_of(FILENAME) <= 2 && $0 ~ /<(fcntl|unistd|sys\/|netinet|netdb|poll|signal|random|fstream|filesystem|thread|mutex|csignal|ctime|pthread)/)
      print FILENAME ":" FNR ": floor " floor_of(FILENAME) " includes " $2
  }
' >> "$faults"

# Floors 1 and 2 in the objects: no clock, chance, environment, file, socket or logger.
forbidden='^(open|open64|openat|fopen|fopen64|read|write|close|stat|fstat|socket|connect|bind|send|recv|sendto|recvfrom|poll|select|getenv|secure_getenv|setenv|time|clock|clock_gettime|gettimeofday|nanosleep|usleep|sleep|rand|random|drand48|getrandom|getaddrinfo|gethostbyname|fork|execv|execve|system|syslog|printf|puts|fprintf|perror|std::chrono::_V2::(steady|system)_clock::now|std::random_device|std::cerr|std::cout|std::clog|base::log|base::now|base::random_bits|base::read_file)([@(:]|$)'
for object in $(find balance/ground balance/pool balance/forms balance/perl loadprobe -name '*.cc' | sort); do
  floor=$(awk -v pure="$pure" -v path="$object" "$floor_of"' BEGIN { print floor_of(path) }')
  [ "$floor" -le 2 ] || continue
  [ -f "$build/${object%.cc}.o" ] || { echo "$object: not built in $build" >> "$faults"; continue; }
  nm -uC "$build/${object%.cc}.o" | sed 's/^ *[A-Za-z] *//' | grep -E "$forbidden" | sed "s|^|$object: floor $floor calls |" >> "$faults"
done

if [ -s "$faults" ]; then
  cat "$faults"
  exit 1
fi
echo "floors: fine"
