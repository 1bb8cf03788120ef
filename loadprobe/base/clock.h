// SPDX-License-Identifier: MIT
// The clocks and chance of the system. Floor 3: floors 1 and 2 get what they need of these as arguments.
#pragma once

#include <cstdint>
#include <string>

#include "loadprobe/base/time.h"

namespace base {

Instant now();                // CLOCK_MONOTONIC; any thread
Seconds wall_time();          // since 1970, CLOCK_REALTIME: it may jump; any thread
Seconds since_boot();         // CLOCK_BOOTTIME, which goes on while the machine sleeps; any thread
std::uint64_t random_bits();  // getrandom(2); any thread
std::string boot_id();        // /proc/sys/kernel/random/boot_id without its line end, "" if unreadable

}  // namespace base
