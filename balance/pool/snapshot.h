// SPDX-License-Identifier: MIT
// Everything a choice looks at, as a value: standings, predictions and turns of the hosts in question, and their
// instant. Floor 2: values and pure functions, any thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "balance/pool/outcomes.h"
#include "balance/pool/prediction.h"
#include "balance/pool/standing.h"

namespace balance {

struct Candidate {
  std::size_t host = 0;  // index in Config::hosts
  Tier tier = Tier::usable;
  double cores = 1;
  double weight = 1;          // in force; 0 where the host is draining for that alone
  Duty duty = Duty::serving;  // that counts
  double background = 0;
  double mean_service_seconds = 0.2;
  Instant reported = base::kNever;  // kNever: no probe, or not yet
  Instant up_since = base::kNever;
  Seconds interval{0.25};
  Prediction prediction;
  double turn = 0;             // v, virtual time
  double in_flight = 0;        // relayed requests of this balancer
  std::uint64_t identity = 0;  // Snapshot::hashed: what tells it from others at every balancer
};

struct Snapshot {
  Instant now{};
  double mean_service_seconds = 0.2;  // M
  double share = 1;                   // phi
  double virtual_time = 0;            // V
  bool weights_count = false;         // the weights in force above 0 are not all equal
  bool none_serves = false;           // every host that this request may go to is draining or off
  bool by_weight = false;             // panic, web_only, or nobody watches: reports are not believed
  std::vector<Candidate> candidates;
  std::optional<std::size_t> preferred;  // the host that this client's page came from, if the request follows up on it
  std::optional<std::size_t> sticky;     // the host that this client stays with
  std::optional<std::uint64_t> hashed;   // the client: its first host is to be that which every balancer would choose
};

// What of a host changes with every dispatch.
struct Live {
  Prediction prediction;
  double turn = 0;
  std::uint32_t in_flight = 0;  // relayed requests, of all processes
  Outcomes outcomes = {};       // of relayed requests
  ByHand by_hand = {};
};

// How many cores to count a host with: of its reports, else of its configuration, else the pool's median.
double cores_of(const HostConfig& host, const Standing& standing, const PoolStanding& pool);

// live.by_hand counts, whatever standing.by_hand is.
Candidate candidate(std::size_t index, const HostConfig& host, Standing standing, const Live& live,
                    const PoolStanding& pool, const ProbeConfig& probe, Instant now);

// How the prediction of a host falls with time.
Drain drain_of(const Candidate& candidate);

// Everything but the candidates.
Snapshot empty_snapshot(const Config& config, const PoolStanding& pool, double virtual_time, Instant now);

// Above this many hosts a choice looks at `kDrawn` of them, drawn in proportion to cores x weight: a choice that looks
// at 32 hosts takes 5.7 times as long as one that looks at 4 (tests/bench/choice 4 32). Where all is relayed it
// looks at more: what is known is exact then, and a request costs far more than a look (simulated, 100 hosts and 4
// balancers: p99 1.19 times that of an omniscient balancer with 8, 1.12 with 24, 1.09 with 48).
inline constexpr std::size_t kScanned = 32;
inline constexpr std::size_t kDrawn = 8;
inline constexpr std::size_t kDrawnForRelay = 48;

}  // namespace balance
