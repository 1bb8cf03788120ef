// SPDX-License-Identifier: MIT
#include "balance/front/decide.h"

namespace balance {
namespace {

// Each try lost means that another request won its turn, so the pool goes on. After this many the request goes where
// the last choice said, without a turn: one host gets one request more than its share.
constexpr int kTries = 8;

bool take_turn(const Decision& decision, const Snapshot& snapshot, Table& table) {
  if (!decision.choice.took_turn) return true;
  const Candidate& chosen = candidate_of(snapshot, *decision.host);
  const Turn after = turn_taken(chosen, snapshot.virtual_time);
  return table.take_turn(*decision.host, chosen.turn, after.host, after.pool);
}

void dispatch(const Request& request, const Decision& decision, const Snapshot& snapshot, Table& table) {
  const std::size_t host = *decision.host;
  const Candidate& chosen = candidate_of(snapshot, host);
  table.dispatch(host, snapshot.now, [&](const Prediction& seen) { return with_dispatch(seen, chosen, snapshot); });
  // The files behind a page (its picture, its saved query) are on the host that made it.
  if (request.class_ == Class::page && request.client) {
    table.remember_client(client_key(*request.client), host, snapshot.now);
  }
}

}  // namespace

Decision decide_and_dispatch(const Request& request, const Config& config, Table* table, Instant now, Draw& draw) {
  // The door to balance-relay: where plan.action is Action::relay the program that relays takes over here. This one
  // asks for plans without relaying, so the plan is never that.
  const Plan plan = plan_for(request, config, Relaying::absent);
  if (!needs_host(plan)) return decide_without_host(request, config, plan);
  if (table == nullptr) return decide_by_weight(request, config, plan, draw);
  for (int tries = 1;; ++tries) {
    const Snapshot snapshot = snapshot_for(request, config, *table, now, draw);
    Decision decision = decide(request, config, plan, snapshot);
    if (!decision.host) {
      // That all are down is an old story where nobody watches: then it is as if there were no table.
      const bool is_old = is_unwatched(table->pool().value_or(PoolStanding{}), config.probe, now);
      return is_old ? decide_by_weight(request, config, plan, draw) : decision;
    }
    if (take_turn(decision, snapshot, *table) || tries == kTries) {
      dispatch(request, decision, snapshot, *table);
      return decision;
    }
  }
}

}  // namespace balance
