// SPDX-License-Identifier: MIT
// The rule `predict`. Floor 2.
#include "balance/pool/policy.h"

#include <algorithm>
#include <cassert>
#include <cmath>
#include <optional>

#include "balance/pool/rendezvous.h"

namespace balance {
namespace {

constexpr double kTie = 1e-9;
constexpr double kSlowStart = 10;  // s
constexpr double kFirstRamp = 0.1;
constexpr double kEmpty = 0.05;      // requests
constexpr double kSameSpeed = 0.15;  // relative differences of mean service times below this say nothing
constexpr double kMostSlow = 4;
// Where a host is ahead of the pool's virtual time by more than any capacity explains, the word is garbage.
constexpr double kMostLead = 1e6;

// What a host can do. A weight of 0 keeps new clients away; its own ones count it as any other.
double capacity_of(const Candidate& candidate) {
  return candidate.cores * (candidate.weight > 0 ? candidate.weight : 1);
}

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

// What is in flight stays true when reports are not believed; all that they say is left out then.
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

double start_of(const Candidate& candidate, double virtual_time) {
  if (candidate.turn > virtual_time + kMostLead) return virtual_time;
  return std::max(virtual_time, candidate.turn);
}

// Positions in Snapshot::candidates: those that may be chosen, best first.
struct Order {
  const Snapshot& snapshot;
  const std::vector<Cost>& costs;
  bool by_turn_alone = false;

  double key(std::size_t i) const {
    return by_turn_alone ? start_of(snapshot.candidates[i], snapshot.virtual_time) : costs[i].cost;
  }
  bool operator()(std::size_t a, std::size_t b) const {
    const Tier x = snapshot.candidates[a].tier, y = snapshot.candidates[b].tier;
    if (x != y) return x < y;
    const double p = key(a), q = key(b);
    return p != q ? p < q : a < b;
  }
};

// Those that tie with the one in front, which is the best; the one in front among them.
std::vector<std::size_t> tied_with_front(const std::vector<std::size_t>& fit, const Order& order) {
  const auto& candidates = order.snapshot.candidates;
  const double least = order.key(fit.front());
  std::vector<std::size_t> tied;
  for (const std::size_t i : fit) {
    if (candidates[i].tier == candidates[fit.front()].tier && order.key(i) - least < kTie) tied.push_back(i);
  }
  return tied;
}

// REQUIRES: tied is not empty.
std::size_t in_turn(const std::vector<std::size_t>& tied, const Snapshot& snapshot) {
  const auto start = [&snapshot](std::size_t i) { return start_of(snapshot.candidates[i], snapshot.virtual_time); };
  return *std::ranges::min_element(
      tied, [start](std::size_t a, std::size_t b) { return start(a) != start(b) ? start(a) < start(b) : a < b; });
}

Reason reason_of(Tier tier, Reason if_usable) {
  switch (tier) {
    case Tier::usable:
      return if_usable;
    case Tier::backup:
      return Reason::backup;
    case Tier::silent:
      return Reason::silent;
    case Tier::failed:
      return Reason::failed;
    case Tier::web_only:
      return Reason::web_only;
    case Tier::draining:
      return Reason::draining;
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
    case Reason::sticky:
      return "sticky";
    case Reason::hashed:
      return "hashed";
    case Reason::backup:
      return "backup";
    case Reason::silent:
      return "silent";
    case Reason::failed:
      return "failed";
    case Reason::web_only:
      return "web only";
    case Reason::draining:
      return "draining";
    case Reason::nobody:
      return "nobody";
  }
  return "?";
}

namespace {

// What the two rules do not share: `draw` for ties, where they are not broken by turn.
struct Rule {
  Cost (*cost)(const Candidate& candidate, const Snapshot& snapshot);
  bool by_turn_alone;
  std::optional<Draw> draw;
};

bool stays_with(const Snapshot& snapshot, const Candidate& candidate, Tier best_tier) {
  return snapshot.sticky == candidate.host && (keeps_clients(candidate.tier) || candidate.tier == best_tier);
}

// In the order of the hashed client the first of the best tier that has not too much to do; a position in candidates.
std::size_t first_hashed(const std::vector<std::size_t>& fit, const Order& order) {
  const auto& candidates = order.snapshot.candidates;
  std::vector<Contender> contenders;
  for (const std::size_t i : fit) {
    const Candidate& candidate = candidates[i];
    if (candidate.tier != candidates[fit.front()].tier) continue;
    // What is not believed does not bound.
    const double cost = order.by_turn_alone ? 0 : order.costs[i].cost;
    contenders.push_back({i, candidate.identity, candidate.cores, candidate.weight, cost});
  }
  return first_within_bound(*order.snapshot.hashed, contenders);
}

// Puts the first choice among the fit ones in front and says why it is.
void put_first(std::vector<std::size_t>& fit, const Order& order, Rule& rule, Choice& choice) {
  const Snapshot& snapshot = order.snapshot;
  std::iter_swap(fit.begin(), std::ranges::min_element(fit, order));
  const Tier best_tier = snapshot.candidates[fit.front()].tier;
  const auto preferred = std::ranges::find_if(fit, [&snapshot, best_tier](std::size_t i) {
    const Tier tier = snapshot.candidates[i].tier;
    return snapshot.preferred == snapshot.candidates[i].host && (tier == best_tier || tier == Tier::draining);
  });
  if (preferred != fit.end()) {
    choice.reason = Reason::client;
    std::iter_swap(fit.begin(), preferred);
    return;
  }
  const auto sticky = std::ranges::find_if(
      fit, [&snapshot, best_tier](std::size_t i) { return stays_with(snapshot, snapshot.candidates[i], best_tier); });
  if (sticky != fit.end()) {
    choice.reason = Reason::sticky;
    std::iter_swap(fit.begin(), sticky);
    return;
  }
  if (snapshot.hashed) {
    choice.reason = reason_of(best_tier, Reason::hashed);
    std::iter_swap(fit.begin(), std::ranges::find(fit, first_hashed(fit, order)));
    return;
  }
  const std::vector<std::size_t> tied = tied_with_front(fit, order);
  std::size_t first = fit.front();
  // Costs of 0 are those of idle hosts where weights are configured: only turns give these their shares.
  if (rule.draw && order.key(first) > 0) {
    first = tied[rule.draw->below(tied.size())];
  } else {
    first = in_turn(tied, snapshot);
    choice.took_turn = tied.size() > 1 || rule.by_turn_alone;
  }
  const Reason usual = choice.took_turn ? Reason::turn : Reason::least_cost;
  choice.reason = reason_of(best_tier, snapshot.by_weight ? Reason::by_weight : usual);
  std::iter_swap(fit.begin(), std::ranges::find(fit, first));
}

// Where weights differ, idle hosts tie at cost 0 if one of them has the least cost: else the heaviest host of an idle
// pool would get everything, since (0 + 1)/(c w) is least there. They do not tie before a busy host that its weight
// makes the better choice still: with weights 1:2:5 on 4 cores each, at half utilisation, idle hosts that always came
// first would take a third of the heaviest one's share.
void let_idle_ones_tie(const std::vector<std::size_t>& fit, const Snapshot& snapshot, std::vector<Cost>& costs) {
  if (!snapshot.weights_count) return;
  const std::size_t least = *std::ranges::min_element(fit, Order{snapshot, costs});
  if (!costs[least].is_idle) return;
  for (const std::size_t i : fit) {
    const bool is_same_tier = snapshot.candidates[i].tier == snapshot.candidates[least].tier;
    if (is_same_tier && costs[i].is_idle) costs[i].cost = 0;
  }
}

Choice choose(const Snapshot& snapshot, Rule rule, std::size_t tried) {
  Choice choice;
  choice.costs.reserve(snapshot.candidates.size());
  std::vector<std::size_t> fit;
  fit.reserve(snapshot.candidates.size());
  for (std::size_t i = 0; i < snapshot.candidates.size(); ++i) {
    const Candidate& candidate = snapshot.candidates[i];
    choice.costs.push_back(rule.cost(candidate, snapshot));
    if (candidate.tier == Tier::draining || (candidate.tier < Tier::down && candidate.weight > 0)) fit.push_back(i);
  }
  if (fit.empty()) return choice;
  let_idle_ones_tie(fit, snapshot, choice.costs);
  const Order order{snapshot, choice.costs, rule.by_turn_alone};
  put_first(fit, order, rule, choice);
  const std::size_t most = std::min(tried, fit.size());
  std::partial_sort(fit.begin() + 1, fit.begin() + static_cast<std::ptrdiff_t>(most), fit.end(), order);
  choice.hosts.reserve(most);
  for (std::size_t i = 0; i < most; ++i) choice.hosts.push_back(snapshot.candidates[fit[i]].host);
  return choice;
}

}  // namespace

Choice predict(const Snapshot& snapshot, std::size_t tried) {
  return choose(snapshot, {predicted_cost, snapshot.by_weight, std::nullopt}, tried);
}

Choice relay_predict(const Snapshot& snapshot, Draw draw, std::size_t tried) {
  return choose(snapshot, {in_flight_cost, false, draw}, tried);
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
  return {start + 1 / capacity_of(candidate), start};
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
