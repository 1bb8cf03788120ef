// SPDX-License-Identifier: MIT
// The rule for choosing a host, `predict`: the least predicted load per weighted core.
// (POLICY; M. Mitzenmacher, "How useful is old information?", IEEE TPDS 11(1), 2000, for the idea of counting one's own
// dispatches.) Floor 2: pure functions of their arguments, any thread.
#pragma once

#include <cstddef>
#include <string_view>
#include <vector>

#include "balance/pool/draw.h"
#include "balance/pool/snapshot.h"

namespace balance {

enum class Reason : std::uint8_t {
  least_cost,  // the only host with the least cost
  turn,        // several hosts tied: it was this one's turn
  by_weight,   // reports are not believed (panic, or nobody watches), or there is no table: by weight alone
  client,      // the host this client belongs to
  backup,      // no serving host is usable
  silent,      // no host is known to be usable; this one has only fallen silent
  nobody,      // there is no host to send to
};
std::string_view name_of(Reason reason);

struct Cost {  // of one candidate, for `balancectl explain`
  std::size_t host = 0;
  double predicted = 0;  // requests, drained to now
  double ramp = 1;       // slow start, 0.1 to 1
  double slow = 1;       // learned speed, 1/4 to 4
  double cost = 0;
};

struct Choice {
  std::vector<std::size_t> hosts;  // to try, in order; empty: nobody
  Reason reason = Reason::nobody;
  std::vector<Cost> costs;  // parallel to Snapshot::candidates
  bool took_turn = false;   // the tie was broken by turn: virtual times advance
};

Choice predict(const Snapshot& snapshot, Draw draw);

// Drained to now and raised by one own dispatch, 1/phi.
Prediction with_dispatch(const Candidate& candidate, const Snapshot& snapshot);

// Start-time fair queueing: after the host's turn, its own virtual time and the pool's.
struct Turn {
  double host = 0;
  double pool = 0;
};
Turn turn_taken(const Candidate& candidate, double virtual_time);

}  // namespace balance
