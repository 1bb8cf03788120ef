// SPDX-License-Identifier: MIT
// The predicted requests in progress on a host, and how time, dispatches and reports change them.
// Floor 2: values and pure functions, any thread.
#pragma once

#include <cstdint>

#include "loadprobe/base/time.h"

namespace balance {

struct Prediction {
  double requests = 0;  // q
  base::Instant at{};   // t
};

// The 64-bit word of the table: requests as a float (high half) and the instant in ticks of 1 ms modulo 2^32 (low
// half). More than 1e6 requests, negative ones and NaN are brought into 0 to 1e6.
std::uint64_t packed(const Prediction& prediction);
// `now` tells which turn of the ticks is meant: the instant nearest to it. Garbage gives 0 to 1e6 requests, never NaN.
Prediction unpacked(std::uint64_t word, base::Instant now);

struct Drain {
  double cores = 1;                                 // > 0
  double mean_service_seconds = 0.2;                // > 0
  base::Instant credit_until{base::Seconds{1e12}};  // last report + 1.5 intervals; completions beyond it do not count
};
// q at `now`: all cores busy, c/m requests a second leave; fewer, each leaves with rate 1/m. `at` becomes now.
Prediction drained(Prediction before, const Drain& drain, base::Instant now);

}  // namespace balance
