// SPDX-License-Identifier: MIT
// Floor 2.
#include "balance/pool/cost.h"

#include <algorithm>
#include <cmath>

namespace balance {
namespace {

constexpr double kSlowStart = 10;  // s
constexpr double kFirstRamp = 0.1;
constexpr double kEmpty = 0.05;      // requests
constexpr double kSameSpeed = 0.15;  // relative differences of mean service times below this say nothing
constexpr double kMostSlow = 4;

double ramp_of(const Candidate& candidate, Instant now) {
  return std::clamp((now - candidate.up_since).count() / kSlowStart, kFirstRamp, 1.0);
}

double slow_of(const Candidate& candidate, const Snapshot& snapshot) {
  if (snapshot.weights_count) return 1;
  const double ratio = candidate.mean_service_seconds / snapshot.mean_service_seconds;
  return std::fabs(ratio - 1) < kSameSpeed ? 1 : std::clamp(ratio, 1 / kMostSlow, kMostSlow);
}

bool is_idle(const Candidate& candidate, double load) { return load <= std::max(0.75 * candidate.cores, 1.25); }

double cost_at(double present, const Candidate& candidate, const Cost& cost) {
  // The ramp divides what is there already, not the request to come: an empty host has its turn at once, and its second
  // request at a time only when the others are far busier. Divided too, an idle pool would send it nothing for 10 s.
  return (present / cost.ramp + 1) / capacity_of(candidate) * cost.slow;
}

void fill_cost(const Candidate& candidate, Cost& cost) {
  const double present = cost.predicted + candidate.background;
  const bool is_warm = cost.ramp >= 1 || present < kEmpty;
  cost.is_idle = is_warm && is_idle(candidate, present + 1);
  cost.cost = cost_at(present, candidate, cost);
}

}  // namespace

Cost predicted_cost(const Candidate& candidate, const Snapshot& snapshot) {
  Cost cost;
  cost.host = candidate.host;
  const double drained_to_now = drained(candidate.prediction, drain_of(candidate), snapshot.now).requests;
  cost.predicted = std::max(drained_to_now, candidate.in_flight);
  cost.ramp = ramp_of(candidate, snapshot.now);
  cost.slow = slow_of(candidate, snapshot);
  fill_cost(candidate, cost);
  return cost;
}

Cost in_flight_cost(const Candidate& candidate, const Snapshot& snapshot) {
  Cost cost;
  cost.host = candidate.host;
  cost.predicted = candidate.in_flight / snapshot.share;
  if (snapshot.by_weight) {
    cost.cost = cost_at(cost.predicted, candidate, cost);
    return cost;
  }
  cost.ramp = ramp_of(candidate, snapshot.now);
  cost.slow = slow_of(candidate, snapshot);
  fill_cost(candidate, cost);
  return cost;
}

}  // namespace balance
