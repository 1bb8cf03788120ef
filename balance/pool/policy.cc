// SPDX-License-Identifier: MIT
// The rule `predict`. Floor 2.
#include "balance/pool/policy.h"

#include <algorithm>
#include <cassert>
#include <cmath>

namespace balance {
namespace {

constexpr double kTie = 1e-9;
constexpr double kSlowStart = 10;  // s
constexpr double kFirstRamp = 0.1;
constexpr double kSameSpeed = 0.15;  // relative differences of mean service times below this say nothing
constexpr double kMostSlow = 4;
// Where a host is ahead of the pool's virtual time by more than any capacity explains, the word is garbage.
constexpr double kMostLead = 1e6;

double ramp_of(const Candidate& candidate, Instant now) {
  return std::clamp((now - candidate.up_since).count() / kSlowStart, kFirstRamp, 1.0);
}

double slow_of(const Candidate& candidate, const Snapshot& snapshot) {
  if (snapshot.weights_count) return 1;
  const double ratio = candidate.mean_service_seconds / snapshot.mean_service_seconds;
  return std::fabs(ratio - 1) < kSameSpeed ? 1 : std::clamp(ratio, 1 / kMostSlow, kMostSlow);
}

// Without it the heaviest host of an idle pool would get everything, since (0 + 1)/(c w) is least there.
bool is_idle(const Candidate& candidate, double load) { return load <= std::max(0.75 * candidate.cores, 1.25); }

Cost cost_of(const Candidate& candidate, const Snapshot& snapshot) {
  Cost cost;
  cost.host = candidate.host;
  cost.predicted = drained(candidate.prediction, drain_of(candidate), snapshot.now).requests;
  cost.ramp = ramp_of(candidate, snapshot.now);
  cost.slow = slow_of(candidate, snapshot);
  const double load = cost.predicted + candidate.background + 1;
  if (snapshot.weights_count && cost.ramp >= 1 && is_idle(candidate, load)) return cost;
  cost.cost = load / (candidate.cores * candidate.weight * cost.ramp) * cost.slow;
  return cost;
}

double start_of(const Candidate& candidate, double virtual_time) {
  if (candidate.turn > virtual_time + kMostLead) return virtual_time;
  return std::max(virtual_time, candidate.turn);
}

// Positions in Snapshot::candidates: those that may be chosen, best first.
struct Order {
  const Snapshot& snapshot;
  const std::vector<Cost>& costs;

  double key(std::size_t i) const {
    return snapshot.by_weight ? start_of(snapshot.candidates[i], snapshot.virtual_time) : costs[i].cost;
  }
  bool operator()(std::size_t a, std::size_t b) const {
    const Tier x = snapshot.candidates[a].tier, y = snapshot.candidates[b].tier;
    if (x != y) return x < y;
    const double p = key(a), q = key(b);
    return p != q ? p < q : a < b;
  }
};

// Of the hosts that tie with the one in front, the one whose turn it is.
std::size_t in_turn(const std::vector<std::size_t>& fit, const Order& order, bool& tied) {
  const auto& candidates = order.snapshot.candidates;
  const double least = order.key(fit.front());
  std::size_t best = fit.front();
  double earliest = start_of(candidates[best], order.snapshot.virtual_time);
  for (const std::size_t i : fit) {
    if (i == fit.front() || candidates[i].tier != candidates[fit.front()].tier) continue;
    if (!(order.key(i) - least < kTie)) continue;
    tied = true;
    const double start = start_of(candidates[i], order.snapshot.virtual_time);
    if (start < earliest || (start == earliest && i < best)) {
      best = i;
      earliest = start;
    }
  }
  return best;
}

Reason reason_of(Tier tier, Reason if_usable) {
  switch (tier) {
    case Tier::usable:
      return if_usable;
    case Tier::backup:
      return Reason::backup;
    case Tier::silent:
      return Reason::silent;
    case Tier::down:
    case Tier::out:
      break;
  }
  return Reason::nobody;
}

}  // namespace

std::string_view name_of(Reason reason) {
  switch (reason) {
    case Reason::least_cost:
      return "least cost";
    case Reason::turn:
      return "turn";
    case Reason::by_weight:
      return "by weight";
    case Reason::client:
      return "client";
    case Reason::backup:
      return "backup";
    case Reason::silent:
      return "silent";
    case Reason::nobody:
      return "nobody";
  }
  return "?";
}

Choice predict(const Snapshot& snapshot) {
  Choice choice;
  choice.costs.reserve(snapshot.candidates.size());
  std::vector<std::size_t> fit;
  fit.reserve(snapshot.candidates.size());
  std::optional<std::size_t> preferred;
  for (std::size_t i = 0; i < snapshot.candidates.size(); ++i) {
    const Candidate& candidate = snapshot.candidates[i];
    choice.costs.push_back(cost_of(candidate, snapshot));
    if (candidate.tier >= Tier::down || !(candidate.weight > 0)) continue;
    fit.push_back(i);
    if (snapshot.preferred == candidate.host) preferred = i;
  }
  if (fit.empty()) return choice;

  const Order order{snapshot, choice.costs};
  std::iter_swap(fit.begin(), std::min_element(fit.begin(), fit.end(), order));
  const Tier best_tier = snapshot.candidates[fit.front()].tier;
  std::size_t first = fit.front();
  if (preferred && snapshot.candidates[*preferred].tier == best_tier) {
    first = *preferred;
    choice.reason = Reason::client;
  } else {
    bool tied = false;
    first = in_turn(fit, order, tied);
    choice.took_turn = tied || snapshot.by_weight;
    choice.reason = reason_of(best_tier, snapshot.by_weight ? Reason::by_weight
                                         : tied             ? Reason::turn
                                                            : Reason::least_cost);
  }
  std::iter_swap(fit.begin(), std::find(fit.begin(), fit.end(), first));
  const std::size_t tried = std::min(kTried, fit.size());
  std::partial_sort(fit.begin() + 1, fit.begin() + static_cast<std::ptrdiff_t>(tried), fit.end(), order);
  choice.hosts.reserve(tried);
  for (std::size_t i = 0; i < tried; ++i) choice.hosts.push_back(snapshot.candidates[fit[i]].host);
  return choice;
}

const Candidate& candidate_of(const Snapshot& snapshot, std::size_t host) {
  const auto found = std::find_if(snapshot.candidates.begin(), snapshot.candidates.end(),
                                  [host](const Candidate& candidate) { return candidate.host == host; });
  assert(found != snapshot.candidates.end());
  return *found;
}

Prediction with_dispatch(const Prediction& seen, const Candidate& candidate, const Snapshot& snapshot) {
  Prediction after = drained(seen, drain_of(candidate), snapshot.now);
  after.requests += 1 / snapshot.share;
  return after;
}

Turn turn_taken(const Candidate& candidate, double virtual_time) {
  const double start = start_of(candidate, virtual_time);
  return {start + 1 / (candidate.cores * candidate.weight), start};
}

Choice choose_by_weight(std::vector<Fit> fit, Draw draw) {
  Choice choice;
  double total = 0;
  for (Fit& one : fit) {
    if (!(one.capacity > 0)) one.capacity = 0;
    total += one.capacity;
  }
  while (choice.hosts.size() < kTried && total > 0) {
    const double at = draw.fraction() * total;
    double sum = 0;
    Fit* taken = nullptr;
    for (Fit& one : fit) {
      if (one.capacity == 0) continue;
      taken = &one;
      sum += one.capacity;
      if (at < sum) break;
    }
    if (taken == nullptr) break;
    choice.hosts.push_back(taken->host);
    total -= taken->capacity;
    taken->capacity = 0;
  }
  if (!choice.hosts.empty()) choice.reason = Reason::by_weight;
  return choice;
}

}  // namespace balance
