// SPDX-License-Identifier: MIT
// The rule for choosing a host, `predict`: the least predicted load per weighted core.
// (The idea of counting one's own dispatches: M. Mitzenmacher, "How useful is old information?", IEEE TPDS 11(1),
// 2000.) Floor 2: pure functions of their arguments, any thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "balance/pool/cost.h"
#include "balance/pool/draw.h"
#include "balance/pool/snapshot.h"

namespace balance {

enum class Reason : std::uint8_t {
  least_cost,  // the only host with the least cost
  turn,        // several hosts tied: it was this one's turn
  by_weight,   // reports are not believed (panic, or nobody watches), or there is no table: by weight alone
  client,      // the host that this client's page came from
  sticky,      // the host that this client stays with
  hashed,      // the first in the client's own order of hosts that is not overloaded
  backup,      // no serving host is usable
  silent,      // no host is known to be usable; this one has only fallen silent
  failed,      // requests failed on every host just now; this one is tried all the same
  web_only,    // all others are down, and this one's probe port refuses; its web port answers
  draining,    // only hosts that take no new clients are left, and the request may be for one of their files
  nobody,      // there is no host to send to
};

struct Choice {
  std::vector<std::size_t> hosts;  // to try, in order, at most kTried; empty: nobody
  Reason reason = Reason::nobody;
  std::vector<Cost> costs;  // parallel to Snapshot::candidates
  bool took_turn = false;   // the tie was broken by turn: virtual times advance
};
inline constexpr std::size_t kTried = 3;

inline constexpr std::size_t kLookedAt = 16;  // hosts that are asked for an artifact

// The choice among the best tier that has a host: usable, backup, silent, failed, web_only, draining. Hosts down for
// sure or out are never chosen. The preferred host is taken if it stands in that tier or is draining; else the sticky
// one while it keeps its clients, or if it stands in that tier; else for a hashed client the first in its order of
// hosts (rendezvous.h). After the first come the next best, up to `tried`, for another try. A host never counts as less
// busy than its relayed requests in flight say.
Choice predict(const Snapshot& snapshot, std::size_t tried = kTried);

// The same where every request is relayed: what is in flight is known, so it is neither predicted nor drained: the
// least (in flight / phi + background + 1) per weighted core. Ties are drawn: by turn, balancers would go in step.
Choice relay_predict(const Snapshot& snapshot, Draw draw, std::size_t tried = kTried);

// Who has the first of Choice::hosts in the snapshot. REQUIRES: `host` is one of the candidates.
const Candidate& candidate_of(const Snapshot& snapshot, std::size_t host);

// What the table's prediction `seen` becomes: drained to now and raised by one own dispatch, 1/phi.
Prediction with_dispatch(const Prediction& seen, const Candidate& candidate, const Snapshot& snapshot);

// Start-time fair queueing: after the host's turn, its own virtual time and the pool's.
struct Turn {
  double host = 0;
  double pool = 0;
};
Turn turn_taken(const Candidate& candidate, double virtual_time);

// Without a table: the fit hosts at random in proportion to cores x weight, none twice. Hosts without capacity are left
// out.
struct Fit {
  std::size_t host = 0;
  double capacity = 1;  // configured cores (else 1) x weight
};
Choice choose_by_weight(std::vector<Fit> fit, Draw draw);

}  // namespace balance
