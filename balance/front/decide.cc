// SPDX-License-Identifier: MIT
#include "balance/front/decide.h"

#include <optional>

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

std::vector<ByHand> all_by_hand(const Table& table, Instant now) {
  std::vector<ByHand> all;
  for (std::size_t i = 0; i < table.hosts(); ++i) all.push_back(table.live(i, now).by_hand);
  return all;
}

Duty duty_at_table(std::size_t host, const Config& config, const Table& table, Instant now) {
  Standing standing = table.standing(host).value_or(Standing{});
  standing.by_hand = table.live(host, now).by_hand;
  return duty_of(config.hosts[host], standing, now);
}

void dispatch(const Request& request, const Decision& decision, const Snapshot& snapshot, Table& table) {
  const std::size_t host = *decision.host;
  const Candidate& chosen = candidate_of(snapshot, host);
  table.dispatch(host, snapshot.now, [&](const Prediction& seen) { return with_dispatch(seen, chosen, snapshot); });
  // The files behind a page (its picture, its saved query) are on the host that made it. Whoever relays sees the answer
  // and knows better whether it is one.
  if (request.class_ == Class::page && request.client && !is_relay(decision) && chosen.duty == Duty::serving) {
    table.remember_client(client_key(*request.client), host, snapshot.now);
  }
}

// False if another process has just given this client to another host.
bool take_client(const Request& request, const Config& config, const Decision& decision, const Snapshot& snapshot,
                 const Tables& tables) {
  if (!decision.binds || !is_by_address(config.sticky.kind) || !request.client) return true;
  return bind_client(request, config, tables, *decision.host, snapshot.sticky, snapshot.now) == *decision.host;
}

}  // namespace

Decision decide_and_dispatch(const Request& request, const Config& config, const Tables& tables, Instant now,
                             Draw& draw, const RelayDoor& door, const std::vector<ByHand>& kept) {
  Table* const table = tables.table;
  const auto without_relaying = [&] {
    door.hand_over();
    return decide_and_dispatch(request, config, tables, now, draw, {}, kept);
  };
  const Plan plan = plan_for(request, config, door.relaying);
  if (!needs_host(plan)) return decide_without_host(request, config, plan);
  if (plan.action == Action::relay && door.hand_over) return without_relaying();
  for (int tries = 1;; ++tries) {
    std::optional<Snapshot> snapshot;
    if (table != nullptr) {
      const std::optional<Bond> bond = bond_of(request, config, table, tables.clients, now);
      snapshot =
          snapshot_for(request, config, plan, *table, now, draw, bond ? std::optional(bond->host) : std::nullopt);
    }
    Decision decision = snapshot ? decide(request, config, plan, *snapshot, draw)
                                 : decide_by_weight(request, config, plan, draw, kept, now);
    const bool by_weight = !snapshot || !decision.host;
    // That all are down is an old story where nobody watches: then it is as if there were no table.
    if (snapshot && !decision.host && is_unwatched(table->pool().value_or(PoolStanding{}), config.probe, now)) {
      decision = decide_by_weight(request, config, plan, draw, all_by_hand(*table, now), now);
    }
    if (is_relay(decision) && door.hand_over) return without_relaying();
    if (by_weight) return decision;
    const bool has_turn = take_turn(decision, *snapshot, *table) || tries == kTries;
    if (has_turn && (take_client(request, config, decision, *snapshot, tables) || tries == kTries)) {
      dispatch(request, decision, *snapshot, *table);
      return decision;
    }
  }
}

bool takes_clients(std::size_t host, const Config& config, const Table& table, Instant now) {
  return duty_at_table(host, config, table, now) == Duty::serving;
}

bool is_off(std::size_t host, const Config& config, const Table& table, Instant now) {
  return duty_at_table(host, config, table, now) == Duty::off;
}

void dispatch_to(std::size_t host, const Config& config, Table& table, Instant now) {
  const PoolStanding pool = table.pool().value_or(PoolStanding{});
  const Snapshot snapshot = empty_snapshot(config, pool, table.virtual_time(), now);
  const Candidate chosen = candidate(host, config.hosts[host], table.standing(host).value_or(Standing{}),
                                     table.live(host, now), pool, config.probe, now);
  table.dispatch(host, now, [&](const Prediction& seen) { return with_dispatch(seen, chosen, snapshot); });
}

}  // namespace balance
