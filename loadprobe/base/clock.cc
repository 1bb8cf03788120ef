// SPDX-License-Identifier: MIT
// Floor 3.
#include "loadprobe/base/clock.h"

#include <sys/random.h>

#include <ctime>

#include "loadprobe/base/file.h"
#include "loadprobe/base/text.h"

namespace base {

namespace {

Seconds read_clock(clockid_t clock) {
  timespec time{};
  clock_gettime(clock, &time);
  return Seconds{static_cast<double>(time.tv_sec) + 1e-9 * static_cast<double>(time.tv_nsec)};
}

}  // namespace

Instant now() { return Instant{read_clock(CLOCK_MONOTONIC)}; }
Seconds wall_time() { return read_clock(CLOCK_REALTIME); }
Seconds since_boot() { return read_clock(CLOCK_BOOTTIME); }

std::uint64_t random_bits() {
  std::uint64_t bits = 0;
  // Eight bytes come whole or not at all; not at all only when a signal comes before the pool is filled.
  while (getrandom(&bits, sizeof bits, 0) != static_cast<ssize_t>(sizeof bits)) {
  }
  return bits;
}

std::string boot_id() {
  const Result<std::string> text = read_file("/proc/sys/kernel/random/boot_id", 256);
  return text ? std::string(trim(*text)) : "";
}

}  // namespace base
