// SPDX-License-Identifier: MIT
// The rule `predict`. Floor 2.
#include "balance/pool/policy.h"

#include <algorithm>
#include <cassert>
#include <cstdint>
#include <optional>

#include "balance/pool/rendezvous.h"

namespace balance {
namespace {

constexpr double kTie = 1e-9;
// Where a host is ahead of the pool's virtual time by more than any capacity explains, the word is garbage.
constexpr double kMostLead = 1e6;

double start_of(const Candidate& candidate, double virtual_time) {
  if (candidate.turn > virtual_time + kMostLead) return virtual_time;
  return std::max(virtual_time, candidate.turn);
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

// What the two rules do not share.
struct Rule {
  Cost (*cost)(const Candidate& candidate, const Snapshot& snapshot);
  bool by_turn_alone;
  std::optional<Draw> draw;  // for ties, where they are not broken by turn
};

// A candidate that may be chosen, with what it is compared by.
struct Ranked {
  Tier tier;
  double key;         // its cost; where turns alone count, the start of its turn
  std::size_t place;  // in Snapshot::candidates
};

bool is_before(const Ranked& a, const Ranked& b) {
  if (a.tier != b.tier) return a.tier < b.tier;
  return a.key != b.key ? a.key < b.key : a.place < b.place;
}

bool ties(const Ranked& one, const Ranked& best) { return one.tier == best.tier && one.key - best.key < kTie; }

// Whether the host that a client's page came from may be asked for what belongs to it.
bool has_files(Tier preferred, Tier best) { return preferred == best || preferred == Tier::draining; }

bool keeps_client(Tier sticky, Tier best) { return keeps_clients(sticky) || sticky == best; }

using Ranking = std::vector<Ranked>;

Ranking::iterator find_host(Ranking& fit, const Snapshot& snapshot, std::optional<std::size_t> host) {
  if (!host) return fit.end();
  return std::ranges::find_if(fit, [&](const Ranked& one) { return snapshot.candidates[one.place].host == *host; });
}

// In the order of the hashed client the first of the best tier that has not too much to do.
Ranking::iterator find_hashed(Ranking& fit, const Snapshot& snapshot, const Rule& rule) {
  std::vector<Contender> contenders;
  for (std::size_t i = 0; i < fit.size(); ++i) {
    if (fit[i].tier != fit.front().tier) continue;
    const Candidate& candidate = snapshot.candidates[fit[i].place];
    // What is not believed does not bound.
    const double cost = rule.by_turn_alone ? 0 : fit[i].key;
    contenders.push_back({i, candidate.identity, candidate.cores, candidate.weight, cost});
  }
  return fit.begin() + static_cast<std::ptrdiff_t>(first_within_bound(*snapshot.hashed, contenders));
}

// Of those that tie with the one in front, which is the best, the one that has its turn.
Ranking::iterator find_turn(Ranking& fit, const Snapshot& snapshot) {
  auto first = fit.begin();
  double least = start_of(snapshot.candidates[first->place], snapshot.virtual_time);
  for (auto one = fit.begin() + 1; one != fit.end(); ++one) {
    if (!ties(*one, fit.front())) continue;
    const double start = start_of(snapshot.candidates[one->place], snapshot.virtual_time);
    if (start > least || (start == least && one->place > first->place)) continue;
    first = one;
    least = start;
  }
  return first;
}

// The one with this number among those that tie with the one in front.
Ranking::iterator find_tied(Ranking& fit, std::size_t number) {
  return std::ranges::find_if(fit, [&](const Ranked& one) { return ties(one, fit.front()) && number-- == 0; });
}

// Puts the first choice among the fit ones in front and says why it is.
void put_first(Ranking& fit, const Snapshot& snapshot, Rule& rule, Choice& choice) {
  std::iter_swap(fit.begin(), std::ranges::min_element(fit, is_before));
  const Ranked best = fit.front();
  const auto put = [&](Ranking::iterator first, Reason reason) {
    std::iter_swap(fit.begin(), first);
    choice.reason = reason;
  };
  const auto preferred = find_host(fit, snapshot, snapshot.preferred);
  if (preferred != fit.end() && has_files(preferred->tier, best.tier)) return put(preferred, Reason::client);
  const auto sticky = find_host(fit, snapshot, snapshot.sticky);
  if (sticky != fit.end() && keeps_client(sticky->tier, best.tier)) return put(sticky, Reason::sticky);
  if (snapshot.hashed) return put(find_hashed(fit, snapshot, rule), reason_of(best.tier, Reason::hashed));
  const auto tied = std::ranges::count_if(fit, [&best](const Ranked& one) { return ties(one, best); });
  // Costs of 0 are those of idle hosts where weights are configured: only turns give these their shares.
  const bool is_drawn = rule.draw && best.key > 0;
  choice.took_turn = !is_drawn && (tied > 1 || rule.by_turn_alone);
  const Reason usual = choice.took_turn ? Reason::turn : Reason::least_cost;
  put(is_drawn ? find_tied(fit, rule.draw->below(static_cast<std::size_t>(tied))) : find_turn(fit, snapshot),
      reason_of(best.tier, snapshot.by_weight ? Reason::by_weight : usual));
}

// Where weights differ, idle hosts tie at cost 0 if one of them has the least cost: else the heaviest host of an idle
// pool would get everything, since (0 + 1)/(c w) is least there. They do not tie before a busy host that its weight
// makes the better choice still: with weights 1:2:5 on 4 cores each, at half utilisation, idle hosts that always came
// first would take a third of the heaviest one's share.
void let_idle_ones_tie(Ranking& fit, std::vector<Cost>& costs) {
  const Ranked least = *std::ranges::min_element(fit, is_before);
  if (!costs[least.place].is_idle) return;
  for (Ranked& one : fit) {
    if (one.tier == least.tier && costs[one.place].is_idle) one.key = costs[one.place].cost = 0;
  }
}

bool is_fit(const Candidate& candidate) {
  return candidate.tier == Tier::draining || (candidate.tier < Tier::down && candidate.weight > 0);
}

Choice choose(const Snapshot& snapshot, Rule rule, std::size_t tried) {
  const std::vector<Candidate>& candidates = snapshot.candidates;
  Choice choice;
  choice.costs.resize(candidates.size());
  Ranking fit;
  fit.reserve(candidates.size());
  for (std::size_t i = 0; i < candidates.size(); ++i) {
    choice.costs[i] = rule.cost(candidates[i], snapshot);
    if (is_fit(candidates[i])) fit.push_back({candidates[i].tier, choice.costs[i].cost, i});
  }
  if (fit.empty()) return choice;
  if (snapshot.weights_count) let_idle_ones_tie(fit, choice.costs);
  if (rule.by_turn_alone) {
    for (Ranked& one : fit) one.key = start_of(candidates[one.place], snapshot.virtual_time);
  }
  put_first(fit, snapshot, rule, choice);
  const std::size_t most = std::min(tried, fit.size());
  choice.hosts.resize(most);
  choice.hosts.front() = candidates[fit.front().place].host;
  for (std::size_t i = 1; i < most; ++i) {
    const auto next = fit.begin() + static_cast<std::ptrdiff_t>(i);
    std::iter_swap(next, std::min_element(next, fit.end(), is_before));
    choice.hosts[i] = candidates[next->place].host;
  }
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
