// SPDX-License-Identifier: MIT
#include "balance/pool/policy.h"

#include <gtest/gtest.h>

#include <array>
#include <cmath>
#include <limits>
#include <numeric>

namespace balance {
namespace {

using Hosts = std::vector<std::size_t>;

Instant at(double seconds) { return Instant{Seconds{seconds}}; }

Candidate idle(std::size_t host, double cores = 4, double weight = 1) {
  Candidate candidate;
  candidate.host = host;
  candidate.cores = cores;
  candidate.weight = weight;
  candidate.prediction.at = at(1000);
  candidate.reported = at(1000);
  return candidate;
}

Candidate with_requests(std::size_t host, double requests) {
  Candidate candidate = idle(host);
  candidate.prediction.requests = requests;
  return candidate;
}

Snapshot of(std::vector<Candidate> candidates) {
  Snapshot snapshot;
  snapshot.now = at(1000);
  snapshot.candidates = std::move(candidates);
  return snapshot;
}

// Sends `n` requests over a pool that stays idle, as the table would see them; the hosts in order.
Hosts sent_over_idle_hosts(Snapshot snapshot, int n) {
  Hosts chosen;
  for (int i = 0; i < n; ++i) {
    const Choice choice = predict(snapshot);
    const std::size_t host = choice.hosts.at(0);
    chosen.push_back(host);
    if (!choice.took_turn) continue;
    const Turn turn = turn_taken(candidate_of(snapshot, host), snapshot.virtual_time);
    snapshot.virtual_time = turn.pool;
    for (Candidate& candidate : snapshot.candidates) {
      if (candidate.host == host) candidate.turn = turn.host;
    }
  }
  return chosen;
}

std::array<int, 4> counts_of(const Hosts& chosen) {
  std::array<int, 4> counts{};
  for (const std::size_t host : chosen) ++counts.at(host);
  return counts;
}

int longest_run(const Hosts& chosen) {
  int longest = 0, run = 0;
  for (std::size_t i = 0; i < chosen.size(); ++i) {
    run = i > 0 && chosen[i] == chosen[i - 1] ? run + 1 : 1;
    longest = std::max(longest, run);
  }
  return longest;
}

TEST(Policy, HasNobodyInAnEmptyPool) {
  const Choice choice = predict(of({}));
  EXPECT_TRUE(choice.hosts.empty());
  EXPECT_EQ(choice.reason, Reason::nobody);
}

TEST(Policy, HasNobodyWhenAllAreDownOrOut) {
  Snapshot snapshot = of({idle(0), idle(1)});
  snapshot.candidates[0].tier = Tier::down;
  snapshot.candidates[1].tier = Tier::out;
  const Choice choice = predict(snapshot);
  EXPECT_TRUE(choice.hosts.empty());
  EXPECT_EQ(choice.reason, Reason::nobody);
  EXPECT_EQ(choice.costs.size(), 2U);  // explained nevertheless
}

TEST(Policy, TakesTheOnlyOneLeftHoweverBusy) {
  Snapshot snapshot = of({idle(0), with_requests(1, 500), idle(2)});
  snapshot.candidates[0].tier = Tier::down;
  snapshot.candidates[2].tier = Tier::out;
  EXPECT_EQ(predict(snapshot).hosts, Hosts{1});
}

TEST(Policy, TakesTheLeastPredictedLoad) {
  const Choice choice = predict(of({with_requests(0, 3), with_requests(1, 1), with_requests(2, 2)}));
  EXPECT_EQ(choice.hosts, (Hosts{1, 2, 0}));
  EXPECT_EQ(choice.reason, Reason::least_cost);
  EXPECT_FALSE(choice.took_turn);
}

TEST(Policy, NamesThreeHostsToTryInTheOrderOfTheirCosts) {
  const Choice choice =
      predict(of({with_requests(0, 5), with_requests(1, 4), with_requests(2, 3), with_requests(3, 2)}));
  EXPECT_EQ(choice.hosts, (Hosts{3, 2, 1}));
}

TEST(Policy, CountsBackgroundAsLoad) {
  Snapshot snapshot = of({idle(0), with_requests(1, 1)});
  snapshot.candidates[0].background = 2;
  EXPECT_EQ(predict(snapshot).hosts.front(), 1U);
}

TEST(Policy, MeasuresLoadPerCore) {
  Snapshot snapshot = of({with_requests(0, 3), with_requests(1, 5)});
  snapshot.candidates[1].cores = 8;  // 4/4 against 6/8
  EXPECT_EQ(predict(snapshot).hosts.front(), 1U);
}

TEST(Policy, MeasuresLoadPerWeight) {
  Snapshot snapshot = of({with_requests(0, 9), with_requests(1, 13)});
  snapshot.candidates[1].weight = 2;  // 10/4 against 14/8
  snapshot.weights_count = true;
  EXPECT_EQ(predict(snapshot).hosts.front(), 1U);
}

TEST(Policy, DrainsPredictionsToNow) {
  Snapshot snapshot = of({with_requests(0, 4), with_requests(1, 3)});
  snapshot.candidates[0].prediction.at = at(999.8);
  snapshot.candidates[0].reported = at(999.8);
  const Choice choice = predict(snapshot);  // 4/e against 3
  EXPECT_EQ(choice.hosts.front(), 0U);
  EXPECT_NEAR(choice.costs[0].predicted, 4 * std::exp(-1), 1e-9);
}

TEST(Policy, DoesNotBelieveInDrainBeyondAnOverdueReport) {
  Snapshot snapshot = of({with_requests(0, 4), with_requests(1, 3)});
  snapshot.candidates[0].prediction.at = at(999);
  snapshot.candidates[0].reported = at(998);  // credit ended at 998.375
  EXPECT_EQ(predict(snapshot).hosts.front(), 1U);
}

TEST(Policy, TakesTurnsOnATie) {
  const Choice choice = predict(of({idle(0), idle(1)}));
  EXPECT_EQ(choice.hosts, (Hosts{0, 1}));
  EXPECT_EQ(choice.reason, Reason::turn);
  EXPECT_TRUE(choice.took_turn);
}

TEST(Policy, SpreadsAnIdlePoolOfEqualsEvenly) {
  const Hosts chosen = sent_over_idle_hosts(of({idle(0), idle(1)}), 1000);
  EXPECT_EQ(counts_of(chosen), (std::array<int, 4>{500, 500, 0, 0}));
  EXPECT_EQ(longest_run(chosen), 1);
}

TEST(Policy, SpreadsAnIdlePoolByWeightsOneTwoFive) {
  Snapshot snapshot = of({idle(0, 4, 1), idle(1, 4, 2), idle(2, 4, 5)});
  snapshot.weights_count = true;
  const Hosts chosen = sent_over_idle_hosts(snapshot, 8000);
  EXPECT_EQ(counts_of(chosen), (std::array<int, 4>{1000, 2000, 5000, 0}));
  EXPECT_EQ(longest_run(chosen), 3);
}

TEST(Policy, WithEqualWeightsPrefersTheIdleHostToTheNearlyIdle) {
  EXPECT_EQ(predict(of({with_requests(0, 1), idle(1)})).hosts.front(), 1U);
}

TEST(Policy, WithConfiguredWeightsCallsAHostIdleUpToThreeQuartersOfItsCores) {
  Snapshot snapshot = of({with_requests(0, 2), with_requests(1, 2.01)});
  snapshot.weights_count = true;
  const Choice choice = predict(snapshot);
  EXPECT_EQ(choice.costs[0].cost, 0);
  EXPECT_GT(choice.costs[1].cost, 0);
}

TEST(Policy, WithConfiguredWeightsCallsAOneCoreHostIdleUpToOneAndAQuarter) {
  Snapshot snapshot = of({idle(0, 1), idle(1, 1)});
  snapshot.candidates[0].prediction.requests = 0.25;
  snapshot.candidates[1].prediction.requests = 0.26;
  snapshot.weights_count = true;
  const Choice choice = predict(snapshot);
  EXPECT_EQ(choice.costs[0].cost, 0);
  EXPECT_GT(choice.costs[1].cost, 0);
}

// An idle pool sent a host that had come back nothing for ten seconds.
TEST(Policy, GivesAnEmptyHostInSlowStartItsTurnAtOnce) {
  Snapshot snapshot = of({idle(0), idle(1)});
  snapshot.candidates[0].up_since = at(1000);
  EXPECT_EQ(predict(snapshot).hosts.front(), 0U);
  snapshot.weights_count = true;
  EXPECT_EQ(predict(snapshot).hosts.front(), 0U);
}

TEST(Policy, GivesAHostInSlowStartASecondRequestOnlyWhenTheOthersAreFarBusier) {
  Snapshot snapshot = of({idle(0), idle(1)});
  snapshot.candidates[0].up_since = at(1000);
  snapshot.candidates[0].prediction.requests = 1;
  snapshot.candidates[1].prediction.requests = 9.9;
  EXPECT_EQ(predict(snapshot).hosts.front(), 1U);
  snapshot.candidates[1].prediction.requests = 10.1;
  EXPECT_EQ(predict(snapshot).hosts.front(), 0U);
  snapshot.weights_count = true;
  snapshot.candidates[1].prediction.requests = 1.5;  // not empty, so idle or not, its ramp counts
  EXPECT_EQ(predict(snapshot).hosts.front(), 1U);
}

TEST(Policy, RampsAHostUpFromATenthInTenSeconds) {
  Snapshot snapshot = of({idle(0), idle(1), idle(2), idle(3)});
  snapshot.candidates[0].up_since = at(1000);
  snapshot.candidates[1].up_since = at(995);
  snapshot.candidates[2].up_since = at(990);
  snapshot.candidates[0].prediction.requests = 1;
  const Choice choice = predict(snapshot);
  EXPECT_DOUBLE_EQ(choice.costs[0].ramp, 0.1);
  EXPECT_DOUBLE_EQ(choice.costs[1].ramp, 0.5);
  EXPECT_DOUBLE_EQ(choice.costs[2].ramp, 1);
  EXPECT_DOUBLE_EQ(choice.costs[3].ramp, 1);
  EXPECT_DOUBLE_EQ(choice.costs[0].cost, 2.75);  // (1 / 0.1 + 1) / 4
}

TEST(Policy, LetsAReturnedHostHaveItsPartBeforeTheRampEnds) {
  Snapshot snapshot = of({idle(0), with_requests(1, 9)});
  snapshot.candidates[0].up_since = at(995);  // 1/(4 x 0.5) against 10/4
  EXPECT_EQ(predict(snapshot).hosts.front(), 0U);
}

TEST(Policy, FindsSlowCoresByThemselves) {
  Snapshot snapshot = of({idle(0), with_requests(1, 0.5)});
  snapshot.candidates[0].mean_service_seconds = 0.4;
  const Choice choice = predict(snapshot);
  EXPECT_DOUBLE_EQ(choice.costs[0].slow, 2);
  EXPECT_EQ(choice.hosts.front(), 1U);
}

TEST(Policy, IgnoresSmallDifferencesOfSpeedAndBoundsGreatOnes) {
  Snapshot snapshot = of({idle(0), idle(1), idle(2)});
  snapshot.candidates[0].mean_service_seconds = 0.2 * 1.14;
  snapshot.candidates[1].mean_service_seconds = 0.2 * 100;
  snapshot.candidates[2].mean_service_seconds = 0.2 / 100;
  const Choice choice = predict(snapshot);
  EXPECT_DOUBLE_EQ(choice.costs[0].slow, 1);
  EXPECT_DOUBLE_EQ(choice.costs[1].slow, 4);
  EXPECT_DOUBLE_EQ(choice.costs[2].slow, 0.25);
}

TEST(Policy, LeavesSpeedToTheWeightsWhereTheyAreConfigured) {
  Snapshot snapshot = of({with_requests(0, 9)});
  snapshot.candidates[0].mean_service_seconds = 0.4;
  snapshot.weights_count = true;
  EXPECT_DOUBLE_EQ(predict(snapshot).costs[0].slow, 1);
}

TEST(Policy, GoesByTheTiers) {
  Snapshot snapshot = of({idle(0), idle(1), with_requests(2, 50)});
  snapshot.candidates[0].tier = Tier::silent;
  snapshot.candidates[1].tier = Tier::backup;
  const Choice usable = predict(snapshot);
  EXPECT_EQ(usable.hosts, (Hosts{2, 1, 0}));
  EXPECT_EQ(usable.reason, Reason::least_cost);

  snapshot.candidates[2].tier = Tier::down;
  const Choice backup = predict(snapshot);
  EXPECT_EQ(backup.hosts, (Hosts{1, 0}));
  EXPECT_EQ(backup.reason, Reason::backup);

  snapshot.candidates[1].tier = Tier::out;
  const Choice silent = predict(snapshot);
  EXPECT_EQ(silent.hosts, Hosts{0});
  EXPECT_EQ(silent.reason, Reason::silent);
}

TEST(Policy, TakesAWebPortAloneWhenAllElseIsDown) {
  Snapshot snapshot = of({idle(0), idle(1), with_requests(2, 50)});
  snapshot.candidates[0].tier = Tier::web_only;
  snapshot.candidates[1].tier = Tier::down;
  snapshot.candidates[2].tier = Tier::failed;
  EXPECT_EQ(predict(snapshot).hosts, (Hosts{2, 0}));
  snapshot.candidates[2].tier = Tier::down;
  const Choice choice = predict(snapshot);
  EXPECT_EQ(choice.hosts, Hosts{0});
  EXPECT_EQ(choice.reason, Reason::web_only);
  EXPECT_EQ(relay_predict(snapshot, Draw{7}).hosts, Hosts{0});
}

// What the hosts last said of themselves is old.
TEST(Policy, ChoosesByWeightAmongWebPorts) {
  Snapshot snapshot = of({with_requests(0, 50), idle(1)});
  snapshot.candidates[0].tier = snapshot.candidates[1].tier = Tier::web_only;
  snapshot.by_weight = true;
  snapshot.candidates[1].turn = 10;
  const Choice choice = predict(snapshot);
  EXPECT_EQ(choice.hosts.front(), 0U);
  EXPECT_EQ(choice.reason, Reason::web_only);
}

TEST(Policy, NeverChoosesAHostWithoutWeight) {
  Snapshot snapshot = of({idle(0, 4, 0), with_requests(1, 100)});
  EXPECT_EQ(predict(snapshot).hosts, Hosts{1});
}

TEST(Policy, SendsAClientToItsHostWhileThatIsUsable) {
  Snapshot snapshot = of({idle(0), with_requests(1, 30)});
  snapshot.preferred = 1;
  const Choice choice = predict(snapshot);
  EXPECT_EQ(choice.hosts, (Hosts{1, 0}));
  EXPECT_EQ(choice.reason, Reason::client);
  EXPECT_FALSE(choice.took_turn);
}

TEST(Policy, SendsAClientElsewhereWhenItsHostIsSilent) {
  Snapshot snapshot = of({with_requests(0, 30), idle(1)});
  snapshot.candidates[1].tier = Tier::silent;
  snapshot.preferred = 1;
  const Choice choice = predict(snapshot);
  EXPECT_EQ(choice.hosts.front(), 0U);
  EXPECT_EQ(choice.reason, Reason::least_cost);
}

TEST(Policy, SendsAClientToItsSilentHostWhenAllAreSilent) {
  Snapshot snapshot = of({idle(0), with_requests(1, 30)});
  snapshot.candidates[0].tier = snapshot.candidates[1].tier = Tier::silent;
  snapshot.preferred = 1;
  EXPECT_EQ(predict(snapshot).hosts.front(), 1U);
}

TEST(Policy, PassesOverAPreferredHostThatIsNoCandidate) {
  Snapshot snapshot = of({idle(0)});
  snapshot.preferred = 99;
  EXPECT_EQ(predict(snapshot).hosts, Hosts{0});
}

TEST(Policy, GoesByWeightAloneWhenReportsAreNotBelieved) {
  Snapshot snapshot = of({with_requests(0, 0), with_requests(1, 40), idle(2, 8)});
  snapshot.by_weight = true;
  EXPECT_EQ(predict(snapshot).reason, Reason::by_weight);
  EXPECT_EQ(counts_of(sent_over_idle_hosts(snapshot, 400)), (std::array<int, 4>{100, 100, 200, 0}));
}

TEST(Policy, ByWeightLeavesOutWhatIsNotUsable) {
  Snapshot snapshot = of({idle(0), idle(1), idle(2)});
  snapshot.by_weight = true;
  snapshot.candidates[1].tier = Tier::silent;
  EXPECT_EQ(counts_of(sent_over_idle_hosts(snapshot, 100)), (std::array<int, 4>{50, 0, 50, 0}));
}

TEST(Policy, ByWeightAdvancesTheTurnEvenOfOneHost) {
  Snapshot snapshot = of({idle(0)});
  snapshot.by_weight = true;
  EXPECT_TRUE(predict(snapshot).took_turn);
}

TEST(Policy, RemovingAHostLeavesTheOrderOfTheOthersAlone) {
  const Choice all = predict(of({with_requests(0, 3), with_requests(1, 1), with_requests(2, 2)}));
  const Choice without = predict(of({with_requests(0, 3), with_requests(2, 2)}));
  EXPECT_EQ(all.hosts, (Hosts{1, 2, 0}));
  EXPECT_EQ(without.hosts, (Hosts{2, 0}));
}

TEST(Policy, CountsOneDispatchAsOneOverOurShare) {
  Snapshot snapshot = of({with_requests(0, 2)});
  snapshot.share = 0.25;
  const Prediction after = with_dispatch({3, at(1000)}, snapshot.candidates[0], snapshot);
  EXPECT_DOUBLE_EQ(after.requests, 7);
  EXPECT_EQ(after.at, at(1000));
}

TEST(Policy, DrainsAPredictionBeforeItAddsTheDispatch) {
  Snapshot snapshot = of({idle(0)});
  EXPECT_NEAR(with_dispatch({4, at(999.8)}, snapshot.candidates[0], snapshot).requests, 4 * std::exp(-1) + 1, 1e-9);
}

TEST(Policy, FillsAnEmptyHostToTheLevelOfTheOthersAndNoFurther) {
  Snapshot snapshot = of({idle(0), with_requests(1, 6), with_requests(2, 6)});
  std::array<int, 4> counts{};
  for (int i = 0; i < 12; ++i) {
    const std::size_t host = predict(snapshot).hosts.front();
    ++counts.at(host);
    snapshot.candidates[host].prediction =
        with_dispatch(snapshot.candidates[host].prediction, snapshot.candidates[host], snapshot);
  }
  EXPECT_EQ(counts, (std::array<int, 4>{8, 2, 2, 0}));
}

TEST(Turn, OfALateComerIsNoMoreThanItsPart) {
  Candidate candidate = idle(0, 2);
  candidate.turn = 1;
  const Turn turn = turn_taken(candidate, 50);
  EXPECT_DOUBLE_EQ(turn.pool, 50);
  EXPECT_DOUBLE_EQ(turn.host, 50.5);
}

TEST(Turn, OfGarbageDoesNotShutAHostOut) {
  Snapshot snapshot = of({idle(0), idle(1)});
  snapshot.candidates[0].turn = 1e300;
  EXPECT_EQ(counts_of(sent_over_idle_hosts(snapshot, 100)), (std::array<int, 4>{50, 50, 0, 0}));
}

TEST(ByWeight, HasNobodyWhereNobodyIsFit) {
  EXPECT_TRUE(choose_by_weight({}, Draw{1}).hosts.empty());
  EXPECT_EQ(choose_by_weight({{0, 0}}, Draw{1}).reason, Reason::nobody);
  EXPECT_TRUE(choose_by_weight({{0, std::nan("")}}, Draw{1}).hosts.empty());
}

TEST(ByWeight, NamesNoHostTwice) {
  for (std::uint64_t seed = 0; seed < 50; ++seed) {
    const Choice choice = choose_by_weight({{4, 1}, {7, 2}, {9, 0}}, Draw{seed});
    EXPECT_TRUE(choice.hosts == (Hosts{4, 7}) || choice.hosts == (Hosts{7, 4}));
    EXPECT_EQ(choice.reason, Reason::by_weight);
  }
}

TEST(ByWeight, IsInProportionToCapacity) {
  std::array<int, 4> counts{};
  Draw seeds{3};
  for (int i = 0; i < 8000; ++i) {
    ++counts.at(choose_by_weight({{0, 1}, {1, 2}, {2, 5}}, Draw{seeds.next()}).hosts.front());
  }
  EXPECT_NEAR(counts[0], 1000, 120);
  EXPECT_NEAR(counts[1], 2000, 160);
  EXPECT_NEAR(counts[2], 5000, 180);
}

}  // namespace
}  // namespace balance
