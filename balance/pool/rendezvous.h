// SPDX-License-Identifier: MIT
// Which host balancers that do not talk give a client: each host draws a number from the client's and its own identity,
// and the greatest wins, so that a host that leaves moves none but its own clients (rendezvous or highest random
// weight: D. G. Thaler, C. V. Ravishankar, "Using name-based mappings to increase hit rates", IEEE/ACM Trans.
// Networking 6(1), 1998; by weight: C. Schindelhauer, G. Schomaker, "Weighted distributed hash tables", SPAA 2005). A
// host that has far more to do than the mean is passed over for the next (V. Mirrokni, M. Thorup, M. Zadimoghaddam,
// "Consistent hashing with bounded loads", SODA 2018). Floor 2: pure functions, any thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace balance {

struct Contender {
  std::size_t index = 0;       // the caller's
  std::uint64_t identity = 0;  // the same at every balancer
  double cores = 1;            // > 0
  double weight = 1;           // > 0
  double cost = 0;             // requests per weighted core, as the policy counts them; 0: no bound
};

// Its number for this client: greater wins. Shares are in proportion to cores x weight.
double rendezvous(std::uint64_t client, const Contender& contender);

// The index of the client's first contender that is not over the bound: its requests beyond kBoundFactor times the
// pool's mean cost are no more than half its cores and kBoundSlack more. Requests come and go, and balancers see them
// at different moments: with less slack they would disagree about a host that has no more than its share. Where all are
// over the bound the first counts. REQUIRES: there is one.
inline constexpr double kBoundFactor = 1.5;
inline constexpr double kBoundSlack = 4;
std::size_t first_within_bound(std::uint64_t client, const std::vector<Contender>& contenders);

}  // namespace balance
