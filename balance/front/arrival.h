// SPDX-License-Identifier: MIT
// How long a request that has begun is waited for. A thread that waits for the rest of a request is a thread that
// others do without, so a request must come at some pace; and where all threads are in use the slow ones make way.
// Floor 3 by its place, but pure functions; any thread.
#pragma once

#include <cstddef>

#include "loadprobe/base/time.h"

namespace balance {

// What has come of a request that is not whole yet.
struct Arrival {
  base::Instant began, last;  // of the wait for it, and of the last bytes that came
  std::size_t bytes = 0;
};

// No byte for `silence`; or, after that time, less than 500 bytes for each second, as Apache's mod_reqtimeout has it.
bool is_too_slow(const Arrival& arrival, base::Instant now, base::Seconds silence);

// Whether it may be given up for others: it has had a second, and either nothing comes just now or less than 4 kB a
// second has come so far.
bool may_be_displaced(const Arrival& arrival, base::Instant now);

// How often somebody who waits is to ask the two.
inline constexpr base::Seconds kAskedAgain{0.5};

}  // namespace balance
