// SPDX-License-Identifier: MIT
// What `balancectl status` shows, as a value read from the table, and its forms: text and JSON.
// Floor 3 for reading; the forms are pure. Any thread.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "balance/ground/config.h"
#include "balance/pool/standing.h"
#include "balance/table/lease.h"
#include "balance/table/table.h"

namespace balance {

struct HostView {
  std::string name;
  Tier tier = Tier::usable;
  Standing standing;  // its cause is that of the tier
  double weight = 1;
  double cores = 1;             // as counted
  double predicted = 0;         // requests in progress, drained to now
  std::uint32_t in_flight = 0;  // relayed requests
  std::uint64_t dispatches = 0;
  double share = 0;            // 0 to 1, of the dispatches since the earlier view, or of all
  std::optional<Seconds> age;  // of the last report
};

struct PoolView {
  std::string table;  // its path
  std::string config;
  bool watched = false;  // poolwatch's beat is fresh
  LeaseState lease;
  std::optional<Seconds> beat_age, watched_for;
  bool panic = false, web_only = false;
  double share = 1;  // phi
  double mean_service_seconds = 0.2;
  std::uint64_t balancer_id = 0;
  std::optional<Seconds> since;  // of the earlier view that the hosts' shares count from
  std::vector<std::string> other_tables;
  std::vector<HostView> hosts;
  Instant now{};
};

// Reads everything. `earlier` may be null.
PoolView view_of(const Config& config, const Table& table, const PoolView* earlier, Instant now);

// Whether somebody watches the hosts: the beat is fresh and the lease, if we may look at it, is held.
bool is_alive(const PoolView& view);

std::string to_text(const PoolView& view);
std::string to_json(const PoolView& view);
// In words: 'alive (process 123) ...', 'not running', 'HANGS (last sign of life 12s ago), though process 123
// holds the lease'.
std::string poolwatch_text(const PoolView& view);

}  // namespace balance
