// SPDX-License-Identifier: MIT
// See schedule.h.
#include "balance/watch/schedule.h"

#include <cmath>

namespace balance {

double phase_of(std::size_t index) {
  constexpr double kGolden = 0.6180339887498949;
  return std::fmod(static_cast<double>(index + 1) * kGolden, 1.0);
}

base::Instant next_due(base::Instant due, base::Seconds interval, base::Instant now) {
  if (due > now) return due;
  return due + interval * (std::floor((now - due) / interval) + 1);
}

}  // namespace balance
