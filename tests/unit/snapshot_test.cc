// SPDX-License-Identifier: MIT
#include "balance/pool/snapshot.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "balance/pool/policy.h"

namespace balance {
namespace {

Instant at(double seconds) { return Instant{Seconds{seconds}}; }

PoolStanding watched() {
  PoolStanding pool;
  pool.started = at(0);
  pool.beat = at(100);
  return pool;
}

TEST(Cores, AreTheReportedOnesElseTheConfiguredElseTheMedian) {
  HostConfig host;
  Standing standing;
  PoolStanding pool;
  EXPECT_EQ(cores_of(host, standing, pool), 1);
  pool.median_cores = 6;
  EXPECT_EQ(cores_of(host, standing, pool), 6);
  host.cores = 8;
  EXPECT_EQ(cores_of(host, standing, pool), 8);
  standing.cores = 0.5;
  EXPECT_EQ(cores_of(host, standing, pool), 0.5);
}

TEST(Cores, ThatMakeNoSenseAreNotBelieved) {
  Standing standing;
  for (const double cores : {std::nan(""), -3.0, 1e9, std::numeric_limits<double>::infinity()}) {
    standing.cores = cores;
    EXPECT_EQ(cores_of(HostConfig{}, standing, PoolStanding{}), 1);
  }
}

TEST(Candidate, IsTheStandingInThePolicysWords) {
  HostConfig host;
  host.weight = 2.5;
  Standing standing;
  standing.health = Health::up;
  standing.reported = at(99.9);
  standing.up_since = at(50);
  standing.cores = 4;
  standing.background = 1.5;
  standing.mean_service_seconds = 0.3;
  const Candidate c = candidate(7, host, standing, {{3, at(99)}, 12}, watched(), ProbeConfig{}, at(100));
  EXPECT_EQ(c.host, 7U);
  EXPECT_EQ(c.tier, Tier::usable);
  EXPECT_EQ(c.cores, 4);
  EXPECT_EQ(c.weight, 2.5);
  EXPECT_EQ(c.background, 1.5);
  EXPECT_EQ(c.mean_service_seconds, 0.3);
  EXPECT_EQ(c.up_since, at(50));
  EXPECT_EQ(c.prediction.requests, 3);
  EXPECT_EQ(c.turn, 12);
}

TEST(Candidate, NeverHeardOfHasThePoolsMeanServiceTime) {
  PoolStanding pool = watched();
  pool.mean_service_seconds = 0.7;
  EXPECT_EQ(candidate(0, {}, {}, {}, pool, {}, at(1)).mean_service_seconds, 0.7);
}

TEST(Candidate, DrainsFromTheLastReportForOneAndAHalfIntervals) {
  Candidate c;
  c.reported = at(100);
  c.interval = Seconds{2};
  EXPECT_EQ(drain_of(c).credit_until, at(103));
}

TEST(Candidate, WithoutReportsDrainsAlways) { EXPECT_GT(drain_of(Candidate{}).credit_until, at(1e9)); }

TEST(Snapshot, BoundsWhatTheTableSays) {
  PoolStanding pool = watched();
  pool.share = 0;
  pool.mean_service_seconds = std::nan("");
  const Snapshot snapshot = empty_snapshot({}, pool, -std::numeric_limits<double>::infinity(), at(100));
  EXPECT_EQ(snapshot.share, 1.0 / 64);
  EXPECT_EQ(snapshot.mean_service_seconds, 1e-4);
  EXPECT_EQ(snapshot.virtual_time, 0);
}

TEST(Snapshot, GoesByWeightInAPanicAndUnwatched) {
  PoolStanding pool = watched();
  EXPECT_FALSE(empty_snapshot({}, pool, 0, at(100)).by_weight);
  pool.panic = true;
  EXPECT_TRUE(empty_snapshot({}, pool, 0, at(100)).by_weight);
  EXPECT_TRUE(empty_snapshot({}, PoolStanding{}, 0, at(100)).by_weight);
  pool.panic = false;
  pool.web_only = true;
  EXPECT_TRUE(empty_snapshot({}, pool, 0, at(100)).by_weight);
}

TEST(Snapshot, OfGarbageStillGivesAFiniteCost) {
  const double nan = std::nan(""), infinity = std::numeric_limits<double>::infinity();
  HostConfig host;
  host.probe = ProbeKind::none;
  for (const double bad : {nan, infinity, -infinity, -1.0, 1e300, 0.0}) {
    Standing standing;
    standing.cores = standing.background = standing.mean_service_seconds = bad;
    standing.reported = at(99);
    PoolStanding pool = watched();
    pool.mean_service_seconds = pool.share = pool.median_cores = bad;
    Snapshot snapshot = empty_snapshot({}, pool, bad, at(100));
    const Live live{unpacked(0x7fc00001ffffffffULL, at(100)), bad};
    snapshot.candidates.push_back(candidate(0, host, standing, live, pool, {}, at(100)));
    snapshot.candidates.push_back(candidate(1, host, {}, {}, pool, {}, at(100)));
    const Choice choice = predict(snapshot);
    EXPECT_EQ(choice.hosts.size(), 2U);
    for (const Cost& cost : choice.costs) EXPECT_TRUE(std::isfinite(cost.cost) && cost.cost > 0) << bad;
    const Turn turn = turn_taken(snapshot.candidates[0], snapshot.virtual_time);
    EXPECT_TRUE(std::isfinite(turn.host) && std::isfinite(turn.pool)) << bad;
  }
}

}  // namespace
}  // namespace balance
