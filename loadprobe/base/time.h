// SPDX-License-Identifier: MIT
// Time as it is passed about: always an argument, never read below floor 3 (base/clock.h reads it).
// Intervals are in seconds on the machine's monotonic clock, which all processes of one boot share;
// another host's clock is never compared with it.
// Floor 1.
#pragma once

#include <algorithm>
#include <chrono>
#include <cmath>

namespace base {

using Seconds = std::chrono::duration<double>;
using Instant = std::chrono::time_point<std::chrono::steady_clock, Seconds>;

// As poll(2) and libcurl want it: rounded up, `least` (0 or more) to 2^31 - 1.
inline int milliseconds(Seconds duration, int least = 0) {
  constexpr double kMost = 2147483647;
  return static_cast<int>(std::ceil(std::clamp(duration.count() * 1e3, static_cast<double>(least), kMost)));
}

// An instant before every other: "never".
inline constexpr Instant kNever = Instant{Seconds{-1e9}};

}  // namespace base
