// SPDX-License-Identifier: MIT
// Time as it is passed about: always an argument, never read below floor 3 (base/clock.h reads it).
// Intervals are in seconds on the machine's monotonic clock, which all processes of one boot share;
// another host's clock is never compared with it.
// Floor 1.
#pragma once

#include <chrono>

namespace base {

using Seconds = std::chrono::duration<double>;
using Instant = std::chrono::time_point<std::chrono::steady_clock, Seconds>;

// An instant before every other: "never".
inline constexpr Instant kNever = Instant{Seconds{-1e9}};

}  // namespace base
