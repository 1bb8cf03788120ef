// SPDX-License-Identifier: MIT
// The choice where requests are relayed.
#include <gtest/gtest.h>

#include <array>
#include <cmath>
#include <vector>

#include "balance/pool/policy.h"

namespace balance {
namespace {

using Hosts = std::vector<std::size_t>;

constexpr Instant kNow{Seconds{1000}};

Candidate flying(std::size_t host, double in_flight) {
  Candidate candidate;
  candidate.host = host;
  candidate.cores = 4;
  candidate.prediction.at = kNow;
  candidate.reported = kNow;
  candidate.in_flight = in_flight;
  return candidate;
}

Snapshot of(std::vector<Candidate> candidates) {
  Snapshot snapshot;
  snapshot.now = kNow;
  snapshot.candidates = std::move(candidates);
  return snapshot;
}

std::array<int, 4> shares(const Snapshot& snapshot, int requests) {
  std::array<int, 4> counts{};
  Draw draw{3};
  for (int i = 0; i < requests; ++i) ++counts.at(relay_predict(snapshot, Draw{draw.next()}).hosts.at(0));
  return counts;
}

TEST(RelayPredict, OfNobodyIsNobody) {
  EXPECT_TRUE(relay_predict(of({}), Draw{1}).hosts.empty());
  Candidate down = flying(0, 0);
  down.tier = Tier::down;
  EXPECT_EQ(relay_predict(of({down}), Draw{1}).reason, Reason::nobody);
}

TEST(RelayPredict, TakesTheLeastInFlightAndThenTheNextBest) {
  const Choice choice = relay_predict(of({flying(0, 5), flying(1, 2), flying(2, 9), flying(3, 3)}), Draw{1});
  EXPECT_EQ(choice.hosts, (Hosts{1, 3, 0}));
  EXPECT_EQ(choice.reason, Reason::least_cost);
  EXPECT_FALSE(choice.took_turn);
}

TEST(RelayPredict, DoesNotHeedThePredictionNorDrain) {
  Candidate predicted = flying(0, 1), idle = flying(1, 2);
  predicted.prediction.requests = 50;
  EXPECT_EQ(relay_predict(of({predicted, idle}), Draw{1}).hosts.front(), 0U);
  Snapshot later = of({predicted, idle});
  later.now = kNow + Seconds{30};
  EXPECT_EQ(relay_predict(later, Draw{1}).costs.at(1).predicted, 2);
}

TEST(RelayPredict, CountsTheOtherBalancersByTheShare) {
  Candidate busy = flying(0, 1), batch = flying(1, 0);
  batch.background = 3;
  Snapshot snapshot = of({busy, batch});
  EXPECT_EQ(relay_predict(snapshot, Draw{1}).hosts.front(), 0U);
  snapshot.share = 0.25;
  EXPECT_EQ(relay_predict(snapshot, Draw{1}).costs.at(0).predicted, 4);
  EXPECT_EQ(relay_predict(snapshot, Draw{1}).hosts.front(), 1U);
}

TEST(RelayPredict, DrawsAmongHostsThatTie) {
  const std::array<int, 4> counts = shares(of({flying(0, 1), flying(1, 1), flying(2, 1), flying(3, 2)}), 3000);
  EXPECT_NEAR(counts[0], 1000, 100);
  EXPECT_NEAR(counts[1], 1000, 100);
  EXPECT_NEAR(counts[2], 1000, 100);
  EXPECT_EQ(counts[3], 0);
}

TEST(RelayPredict, IdleHostsWithWeightsHaveTheirTurns) {
  Candidate light = flying(0, 0), heavy = flying(1, 0);
  light.weight = 1;
  heavy.weight = 3;
  Snapshot snapshot = of({light, heavy});
  snapshot.weights_count = true;
  std::array<int, 2> counts{};
  for (int i = 0; i < 400; ++i) {
    const Choice choice = relay_predict(snapshot, Draw{static_cast<std::uint64_t>(i)});
    ASSERT_TRUE(choice.took_turn);
    const std::size_t host = choice.hosts.front();
    ++counts.at(host);
    const Turn turn = turn_taken(candidate_of(snapshot, host), snapshot.virtual_time);
    snapshot.virtual_time = turn.pool;
    snapshot.candidates[host].turn = turn.host;
  }
  EXPECT_EQ(counts[0], 100);
  EXPECT_EQ(counts[1], 300);
}

TEST(RelayPredict, HeedsCoresAndSpeed) {
  Candidate small = flying(0, 2), large = flying(1, 6);
  large.cores = 16;
  EXPECT_EQ(relay_predict(of({small, large}), Draw{1}).hosts.front(), 1U);
  Candidate slow = flying(0, 2), fast = flying(1, 3);
  slow.mean_service_seconds = 0.4;
  fast.mean_service_seconds = 0.2;
  EXPECT_EQ(relay_predict(of({slow, fast}), Draw{1}).hosts.front(), 1U);
}

TEST(RelayPredict, WhenReportsAreNotBelievedWhatIsInFlightStillCounts) {
  Candidate free = flying(0, 0), busy = flying(1, 4);
  free.background = 50;
  Snapshot snapshot = of({free, busy});
  EXPECT_EQ(relay_predict(snapshot, Draw{1}).hosts.front(), 1U);
  snapshot.by_weight = true;
  EXPECT_EQ(relay_predict(snapshot, Draw{1}).hosts.front(), 0U);
  EXPECT_EQ(relay_predict(snapshot, Draw{1}).reason, Reason::by_weight);
}

TEST(RelayPredict, AHostThatJustFailedComesLast) {
  Candidate failed = flying(0, 0), backup = flying(1, 9), silent = flying(2, 0);
  failed.tier = Tier::failed;
  backup.tier = Tier::backup;
  silent.tier = Tier::silent;
  EXPECT_EQ(relay_predict(of({failed, backup, silent}), Draw{1}).hosts, (Hosts{1, 2, 0}));
}

TEST(RelayPredict, WhereAllHaveJustFailedOneIsTriedAllTheSame) {
  Candidate a = flying(0, 3), b = flying(1, 1);
  a.tier = b.tier = Tier::failed;
  const Choice choice = relay_predict(of({a, b}), Draw{1});
  EXPECT_EQ(choice.hosts, (Hosts{1, 0}));
  EXPECT_EQ(choice.reason, Reason::failed);
}

TEST(RelayPredict, TheClientsHostIsTakenWhileItIsAmongTheBest) {
  Snapshot snapshot = of({flying(0, 0), flying(1, 50)});
  snapshot.preferred = 1;
  EXPECT_EQ(relay_predict(snapshot, Draw{1}).hosts, (Hosts{1, 0}));
  snapshot.candidates[1].tier = Tier::failed;
  EXPECT_EQ(relay_predict(snapshot, Draw{1}).hosts, (Hosts{0, 1}));
}

TEST(RelayPredict, GivesAsManyHostsAsAreToBeTried) {
  std::vector<Candidate> many;
  for (std::size_t i = 0; i < 20; ++i) many.push_back(flying(i, static_cast<double>(i)));
  EXPECT_EQ(relay_predict(of(many), Draw{1}).hosts.size(), kTried);
  EXPECT_EQ(relay_predict(of(many), Draw{1}, kLookedAt).hosts.size(), kLookedAt);
  EXPECT_EQ(predict(of(many), kLookedAt).hosts.size(), kLookedAt);
}

TEST(Predict, AHostIsNotLessBusyThanItsRelayedRequests) {
  Candidate relayed = flying(0, 6), other = flying(1, 0);
  other.prediction.requests = 5;
  EXPECT_EQ(predict(of({relayed, other})).hosts.front(), 1U);
  EXPECT_EQ(predict(of({relayed, other})).costs.at(0).predicted, 6);
}

TEST(Predict, AHostThatJustFailedForRelaysIsLeftAloneByRedirectsToo) {
  Candidate failed = flying(0, 0), other = flying(1, 0);
  failed.tier = Tier::failed;
  other.prediction.requests = 40;
  EXPECT_EQ(predict(of({failed, other})).hosts.front(), 1U);
}

}  // namespace
}  // namespace balance
