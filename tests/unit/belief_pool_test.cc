// SPDX-License-Identifier: MIT
// What is believed of the pool as a whole.
#include <gtest/gtest.h>

#include <vector>

#include "balance/pool/belief.h"

namespace balance {
namespace {

Instant at(double seconds) { return Instant{Seconds{seconds}}; }

TEST(WebOnly, HoldsWhenNothingBetterIsLeft) {
  const std::vector<HostConfig> hosts(3);
  PoolStanding pool;
  pool.started = at(0);
  Standing up_, refusing, dead;
  up_.health = Health::up;
  up_.reported = at(99.9);
  refusing.health = dead.health = Health::down;
  refusing.web = WebPort::answers;
  refusing.probe_refused = true;
  const auto holds = [&](const std::vector<Standing>& standings) {
    return is_web_only(hosts, standings, pool, ProbeConfig{}, at(100));
  };
  EXPECT_TRUE(holds({refusing, refusing, refusing}));
  EXPECT_TRUE(holds({dead, refusing, dead}));
  EXPECT_FALSE(holds({dead, dead, dead}));
  EXPECT_FALSE(holds({refusing, up_, refusing}));
  EXPECT_TRUE(with_hosts(pool, hosts, {dead, refusing, dead}, ProbeConfig{}, 0.5, at(100)).web_only);
}

// `silent` of `all` hosts have fallen silent, `down` more are down.
bool panics(std::size_t all, std::size_t silent, std::size_t down, double limit = 0.5) {
  std::vector<HostConfig> hosts(all);
  std::vector<Standing> standings(all);
  ProbeConfig probe;
  probe.expire = Seconds{2};
  for (std::size_t i = 0; i < all; ++i) {
    standings[i].health = i >= silent && i < silent + down ? Health::down : Health::up;
    standings[i].reported = at(i < silent ? 90 : 100);
  }
  PoolStanding pool;
  pool.started = at(0);
  return is_panic(hosts, standings, pool, probe, limit, at(100));
}

TEST(Panic, IsTheSilenceOfMoreThanHalf) {
  EXPECT_FALSE(panics(4, 2, 0));
  EXPECT_TRUE(panics(4, 3, 0));
  EXPECT_TRUE(panics(1, 1, 0));
  EXPECT_FALSE(panics(0, 0, 0));
}

TEST(Panic, DoesNotCountHostsThatAreDownForSureAsSilent) {
  EXPECT_FALSE(panics(4, 2, 2));
  EXPECT_FALSE(panics(4, 0, 4));
}

TEST(Panic, IsTurnedOffByZeroAndFollowsItsLimit) {
  EXPECT_FALSE(panics(4, 4, 0, 0));
  EXPECT_TRUE(panics(4, 2, 0, 0.4));
}

TEST(Panic, LooksAtProbedServingHostsAlone) {
  std::vector<HostConfig> hosts(3);
  hosts[1].probe = ProbeKind::none;
  std::vector<Standing> standings(3);
  standings[0].reported = at(1);
  standings[2].reported = at(100);
  standings[2].duty = Duty::draining;
  PoolStanding pool;
  pool.started = at(0);
  EXPECT_TRUE(is_panic(hosts, standings, pool, ProbeConfig{}, 0.5, at(100)));
}

TEST(Panic, DoesNotEndByItself) {
  // In a panic silent hosts count as usable; that must not end it.
  std::vector<HostConfig> hosts(1);
  std::vector<Standing> standings(1);
  standings[0].reported = at(1);
  standings[0].web = WebPort::answers;
  PoolStanding pool;
  pool.started = at(0);
  pool.panic = true;
  EXPECT_TRUE(is_panic(hosts, standings, pool, ProbeConfig{}, 0.5, at(100)));
}

TEST(PoolOfHosts, HasTheMedianOfTheKnownCoresAndTheGreatestCapacity) {
  std::vector<HostConfig> hosts(4);
  hosts[1].cores = 6;
  hosts[2].weight = 3;
  std::vector<Standing> standings(4);
  standings[0].cores = 2;
  standings[2].cores = 8;
  for (Standing& standing : standings) standing.reported = at(100);
  PoolStanding before;
  before.share = 0.5;
  const PoolStanding after = with_hosts(before, hosts, standings, ProbeConfig{}, 0.5, at(100));
  EXPECT_EQ(after.median_cores, 6);
  EXPECT_EQ(after.greatest_capacity, 24);
  EXPECT_EQ(after.share, 0.5);
  EXPECT_FALSE(after.panic);
}

TEST(PoolOfHosts, IsOneCoreWhereNobodyKnows) {
  EXPECT_EQ(with_hosts({}, std::vector<HostConfig>(2), std::vector<Standing>(2), {}, 0.5, at(1)).median_cores, 1);
}

}  // namespace
}  // namespace balance
