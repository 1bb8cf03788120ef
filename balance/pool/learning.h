// SPDX-License-Identifier: MIT
// What reports teach about the pool: each host's mean service time and background, our share of all dispatches (POLICY:
// at a report). One code for three levels of knowledge: everything; running tasks, dispatches and CPU seconds; load
// averages alone. Floor 2: values and pure functions. poolwatch owns the memories; one thread.
#pragma once

#include <cstdint>
#include <optional>

#include "balance/pool/standing.h"

namespace balance {

struct PoolMemory {
  double busy_seconds = 4;  // M starts as 0.2 s with a weight of 20 requests
  double completed = 20;
  double own = 0, arrived = 0;  // dispatches, memory 20 s
  double mean_service_seconds() const { return busy_seconds / completed; }
  double share = 1;  // phi
};

struct HostMemory {
  double busy_seconds = 0, completed = 0;  // B, N: memory 120 s
  std::optional<double> last_cpu_seconds, last_completed, last_load1;
  std::optional<std::uint64_t> last_arrived;
  std::uint64_t last_own = 0;
  double background = 0;
  bool background_known = false;
  Instant reported = base::kNever;
};

struct Learned {
  double mean_service_seconds = 0.2;  // m
  double background = 0;              // b
  std::optional<double> requests;     // q: what the table's prediction becomes, if this report tells it
  bool back = false;                  // the host was away: slow start begins
};

}  // namespace balance
