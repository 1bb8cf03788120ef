// SPDX-License-Identifier: MIT
// When to ask a host next: a grid of its own, so that the hosts' turns are spread evenly over the interval and a late
// answer does not shift the ones to come.
// Pure functions, any thread.
#pragma once

#include <cstddef>

#include "loadprobe/base/time.h"

namespace balance {

// How far into the interval host `index` has its turn, 0 to 1: multiples of the golden ratio leave even gaps for any
// number of hosts.
double phase_of(std::size_t index);

// The first instant after `now` on the grid that `due` stands on.
base::Instant next_due(base::Instant due, base::Seconds interval, base::Instant now);

}  // namespace balance
