// SPDX-License-Identifier: MIT
// What one more request would cost on a host: the figure that the rule compares. Floor 2: pure functions, any thread.
#pragma once

#include <cstddef>

#include "balance/pool/snapshot.h"

namespace balance {

struct Cost {  // of one candidate, for `balancectl explain`
  std::size_t host = 0;
  double predicted = 0;  // requests, drained to now
  double ramp = 1;       // slow start, 0.1 to 1
  double slow = 1;       // learned speed, 1/4 to 4
  double cost = 0;
  bool is_idle = false;  // warm, with cores to spare
};

// What a host can do: cores x weight. A weight of 0 keeps new clients away; its own ones count it as any other.
inline double capacity_of(const Candidate& candidate) {
  return candidate.cores * (candidate.weight > 0 ? candidate.weight : 1);
}

// Of `predict`: the requests predicted, or those relayed that are in flight if they are more.
Cost predicted_cost(const Candidate& candidate, const Snapshot& snapshot);

// Of `relay_predict`. What is in flight stays true when reports are not believed; all that they say is left out then.
Cost in_flight_cost(const Candidate& candidate, const Snapshot& snapshot);

}  // namespace balance
