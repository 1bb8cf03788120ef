// SPDX-License-Identifier: MIT
// A decision that counts: chosen from what the table says, and told to the table.
// Floor 3 (the table is its only I/O). Any thread.
#pragma once

#include <functional>
#include <vector>

#include "balance/pool/decision.h"
#include "balance/table/affinity.h"
#include "balance/table/table.h"

namespace balance {

// What this program does with requests that are to be relayed.
struct RelayDoor {
  Relaying relaying = Relaying::absent;
  // Called before anything is told to the table where the decision is to relay: hands the request over and does not
  // return. If it does, nobody relays, and the decision is made anew. May be empty.
  std::function<void()> hand_over;
};

// Whether clients may be bound to this host from now on, or an entry of theirs renewed: not while it is draining, or it
// would never be done.
bool takes_clients(std::size_t host, const Config& config, const Table& table, Instant now);
// Whether the host is off: gets nothing at all, not even another try of a request under way.
bool is_off(std::size_t host, const Config& config, const Table& table, Instant now);

// Chooses, counts the dispatch, takes the turn, and remembers who served this client's page and whose the client is.
// Where another process takes the turn or the client first the choice is made anew, a bounded number of times. Without
// a table: by weight, and nothing is told; `kept` is then what was set by hand, by host.
Decision decide_and_dispatch(const Request& request, const Config& config, const Tables& tables, Instant now,
                             Draw& draw, const RelayDoor& door = {}, const std::vector<ByHand>& kept = {});

// Counts a dispatch that no decision has counted: another try of a request, at another host.
void dispatch_to(std::size_t host, const Config& config, Table& table, Instant now);

}  // namespace balance
