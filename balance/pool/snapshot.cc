// SPDX-License-Identifier: MIT
// How standings become candidates. What the table says is not trusted: every figure is brought into a range in which
// the policy's arithmetic makes sense. Floor 2.
#include "balance/pool/snapshot.h"

#include <algorithm>
#include <cmath>

namespace balance {
namespace {

constexpr double kLeastCores = 0.001, kMostCores = 65536;
constexpr double kLeastService = 1e-4, kMostService = 1e4;  // s
constexpr double kOverdueIntervals = 1.5;
// Beyond this a double cannot count turns of small hosts any more: whatever stands there is garbage.
constexpr double kMostTurns = 1e12;

// The comparisons are false for NaN.
double service(double seconds) { return seconds >= kLeastService ? std::min(seconds, kMostService) : kLeastService; }
double turns(double time) { return time >= 0 && time <= kMostTurns ? time : 0; }
bool is_cores(double cores) { return cores > 0 && cores <= kMostCores; }

}  // namespace

double cores_of(const HostConfig& host, const Standing& standing, const PoolStanding& pool) {
  if (is_cores(standing.cores)) return std::max(standing.cores, kLeastCores);
  if (host.cores && is_cores(*host.cores)) return std::max(*host.cores, kLeastCores);
  return is_cores(pool.median_cores) ? std::max(pool.median_cores, kLeastCores) : 1;
}

Candidate candidate(std::size_t index, const HostConfig& host, Standing standing, const Live& live,
                    const PoolStanding& pool, const ProbeConfig& probe, Instant now) {
  standing.by_hand = live.by_hand;
  Candidate result;
  result.host = index;
  result.tier = tier_with(tier_of(host, standing, pool, probe, now), live.outcomes, now);
  result.cores = cores_of(host, standing, pool);
  result.weight = weight_of(host, live.by_hand);
  result.duty = duty_of(host, standing, now);
  result.background = standing.background > 0 ? std::min(standing.background, 1e6) : 0;
  const bool heard = standing.reported != base::kNever;
  result.mean_service_seconds = service(heard ? standing.mean_service_seconds : pool.mean_service_seconds);
  result.reported = standing.reported;
  result.up_since = standing.up_since;
  result.interval = probe.interval_of(host.probe);
  result.prediction = live.prediction;
  result.turn = turns(live.turn);
  result.in_flight = live.in_flight;
  return result;
}

Drain drain_of(const Candidate& candidate) {
  Drain drain;
  drain.cores = candidate.cores;
  drain.mean_service_seconds = candidate.mean_service_seconds;
  if (candidate.reported != base::kNever) {
    drain.credit_until = candidate.reported + kOverdueIntervals * candidate.interval;
  }
  return drain;
}

Snapshot empty_snapshot(const Config& config, const PoolStanding& pool, double virtual_time, Instant now) {
  Snapshot snapshot;
  snapshot.now = now;
  snapshot.mean_service_seconds = service(pool.mean_service_seconds);
  snapshot.share = pool.share >= 1.0 / 64 ? std::min(pool.share, 1.0) : 1.0 / 64;
  snapshot.virtual_time = turns(virtual_time);
  snapshot.weights_count = config.weights_count();
  snapshot.by_weight = pool.panic || pool.web_only || is_unwatched(pool, config.probe, now);
  return snapshot;
}

}  // namespace balance
