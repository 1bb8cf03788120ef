// SPDX-License-Identifier: MIT
// One request, end to end, as a value: what is to be done, who was chosen and why, what the client gets. `balance`
// answers with it and `balancectl explain` prints it; only `balance` tells the table afterwards.
// Floor 2: pure functions, any thread.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "balance/ground/reply.h"
#include "balance/ground/request.h"
#include "balance/ground/sticky.h"
#include "balance/pool/gather.h"
#include "balance/pool/policy.h"

namespace balance {

struct Decision {
  Plan plan;                        // plan.action: what it comes to with the chosen host
  Choice choice;                    // empty where no host was needed or none could be had
  std::optional<std::size_t> host;  // where the client is sent, or the request first: index in Config::hosts
  Reply reply;                      // empty where plan.action is Action::relay and there is a host
  bool binds = false;               // a sticky client that `host` serves stays with it
};

// Whether the decision is to relay: to choice.hosts, in their order.
bool is_relay(const Decision& decision);

// Whether the plan sends the client to a host; the others are answered by the plan alone.
bool needs_host(const Plan& plan);

// The answer to a plan that needs no host. REQUIRES: !needs_host(plan).
Decision decide_without_host(const Request& request, const Config& config, const Plan& plan);

// The choice among the snapshot's hosts. Nobody there: 508 where every host would be a loop, 503 that names the setting
// where only relaying could have answered, else 503 that asks to come again.
// `draw` breaks ties where every request is relayed.
Decision decide(const Request& request, const Config& config, const Plan& plan, const Snapshot& snapshot, Draw draw);

// The same without a table: by weight, at random; a sticky client by its cookie or the hash of its address, since
// nobody remembers it. Backups only when fewer than backup-below others fit. `by_hand`, by host, is what was set by
// hand, as it counts `now`; empty: nothing.
Decision decide_by_weight(const Request& request, const Config& config, const Plan& plan, Draw draw,
                          const std::vector<ByHand>& by_hand = {}, Instant now = {});

// Who a client is for the table's client entries: its address; of IPv6 the /64, which is what one site has. Entries for
// pages and those of sticky clients lie side by side: no key of one kind is ever one of the other.
std::uint64_t client_key(const base::Address& address);
std::uint64_t sticky_key(const base::Address& address);
bool is_sticky_tag(std::uint32_t tag);  // of a client entry

// For whom balancers have to agree on a first host (peers > 1): the client.
std::optional<std::uint64_t> hashed_client(const Request& request, const Config& config);

// Whether an answer of this content type to this request is a page whose files live on the host that made it: then the
// client is remembered. A redirect is remembered by the request alone.
bool binds_client(const Request& request, std::string_view content_type);

// How long a client's page binds it to the host that served it: the files behind the page live there.
inline constexpr Seconds kPageKept{600};

// Which host this request belongs to, if it follows up on a page or is one of its pictures: asks `host_of_client(key)`
// for it.
template <class HostOfClient>
std::optional<std::size_t> preferred_host(const Request& request, HostOfClient host_of_client) {
  if (!(request.is_page_follow_up || request.class_ == Class::artifact) || !request.client) return std::nullopt;
  return host_of_client(client_key(*request.client));
}

// Whether this request may see a draining host: `belongs` says that its client does so. With drain-sticky = move
// clients leave, but not the pictures of the pages that they have: those are nowhere else.
bool may_see_draining(const Request& request, const Config& config, bool belongs);

// Counts backups as usable while there are others, but fewer than backup-below.
void call_in_backups(std::vector<Candidate>& candidates, const Config& config);

// Everything that a choice for this request looks at. A draining host is among it for those alone who belong to it, and
// one that is off never: whoever sets `preferred` or `sticky`, the host that this client
// stays with, need not look at duties. `Table` is the shared table or a stand-in
// with its reading functions; what it cannot tell counts as never heard of. Hosts that may not be this request's target
// are left out.
template <class Table>
Snapshot snapshot_for(const Request& request, const Config& config, const Plan& plan, const Table& table, Instant now,
                      Draw& draw, std::optional<std::size_t> sticky = std::nullopt) {
  const PoolStanding pool = table.pool().value_or(PoolStanding{});
  Snapshot snapshot = empty_snapshot(config, pool, table.virtual_time(), now);
  snapshot.preferred =
      preferred_host(request, [&](std::uint64_t client) { return table.host_of_client(client, now, kPageKept); });
  if (const std::optional<bool> differ = table.weights_differ()) snapshot.weights_count = *differ;
  snapshot.sticky = sticky;
  snapshot.hashed = hashed_client(request, config);
  snapshot.none_serves = true;
  const auto read = [&](std::size_t index) -> std::optional<Candidate> {
    const HostConfig& host = config.hosts[index];
    if (target_of(request, host, config, plan) != Target::fit) return std::nullopt;
    std::optional<Standing> told = table.standing(index);
    Candidate looked =
        candidate(index, host, told ? *std::move(told) : Standing{}, table.live(index, now), pool, config.probe, now);
    if (looked.duty == Duty::serving) snapshot.none_serves = false;
    const bool belongs = snapshot.preferred == index || sticky == index;
    if (looked.tier == Tier::draining && !may_see_draining(request, config, belongs)) return std::nullopt;
    if (snapshot.hashed) looked.identity = identity_of(host);
    return looked;
  };
  const std::size_t drawn = relays_all(config) ? kDrawnForRelay : kDrawn;
  Field field{config.hosts.size(),
              pool.greatest_capacity,
              {snapshot.preferred, sticky},
              std::max<std::size_t>(drawn, config.backup_below)};
  if (snapshot.hashed && field.hosts > kScanned) {
    // Balancers that drew hosts by chance would not agree.
    const std::optional<Candidate> own = sticky ? read(*sticky) : std::nullopt;
    if (!own || !keeps_clients(own->tier)) field.drawn = field.hosts;
  }
  snapshot.candidates = gather(field, draw, read);
  call_in_backups(snapshot.candidates, config);
  return snapshot;
}

}  // namespace balance
