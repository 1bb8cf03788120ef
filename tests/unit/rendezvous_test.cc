// SPDX-License-Identifier: MIT
#include "balance/pool/rendezvous.h"

#include <gtest/gtest.h>

#include <map>

namespace balance {
namespace {

constexpr std::uint64_t kClients = 20000;

std::vector<Contender> hosts(std::size_t count, double cost = 0) {
  std::vector<Contender> contenders;
  for (std::size_t i = 0; i < count; ++i) contenders.push_back({i, i * 1000 + 7, 4, 1, cost});
  return contenders;
}

std::vector<std::size_t> firsts(const std::vector<Contender>& contenders) {
  std::vector<std::size_t> first;
  for (std::uint64_t client = 0; client < kClients; ++client) first.push_back(first_within_bound(client, contenders));
  return first;
}

std::map<std::size_t, double> shares(const std::vector<std::size_t>& first) {
  std::map<std::size_t, double> share;
  for (const std::size_t host : first) share[host] += 1.0 / kClients;
  return share;
}

TEST(Rendezvous, SpreadsClientsEvenly) {
  for (const auto& [host, share] : shares(firsts(hosts(4)))) EXPECT_NEAR(share, 0.25, 0.02) << host;
}

TEST(Rendezvous, SharesFollowCoresAndWeights) {
  std::vector<Contender> contenders = hosts(3);
  contenders[0].weight = 2;
  contenders[1].cores = 20;
  const auto share = shares(firsts(contenders));  // 8 : 20 : 4
  EXPECT_NEAR(share.at(0), 0.25, 0.02);
  EXPECT_NEAR(share.at(1), 0.625, 0.02);
  EXPECT_NEAR(share.at(2), 0.125, 0.02);
}

TEST(Rendezvous, AHostThatLeavesMovesOnlyItsOwnClients) {
  std::vector<Contender> fewer = hosts(5);
  const std::vector<std::size_t> before = firsts(fewer);
  fewer.erase(fewer.begin() + 2);
  const std::vector<std::size_t> after = firsts(fewer);
  std::map<std::size_t, int> heirs;
  for (std::size_t i = 0; i < kClients; ++i) {
    if (before[i] == 2) {
      ++heirs[after[i]];
    } else {
      ASSERT_EQ(before[i], after[i]) << i;
    }
  }
  EXPECT_EQ(heirs.size(), 4U);  // and they go to all of the others
}

TEST(Rendezvous, DoesNotDependOnTheOrderOfHosts) {
  std::vector<Contender> turned = hosts(5);
  const std::vector<std::size_t> before = firsts(turned);
  std::reverse(turned.begin(), turned.end());
  EXPECT_EQ(firsts(turned), before);
}

TEST(Rendezvous, AHostWithFarMoreThanTheMeanIsPassedOver) {
  std::vector<Contender> contenders = hosts(4, 0.5);
  contenders[1].cost = 10;
  const std::vector<std::size_t> before = firsts(hosts(4));
  const std::vector<std::size_t> after = firsts(contenders);
  for (std::size_t i = 0; i < kClients; ++i) {
    ASSERT_NE(after[i], 1U);
    if (before[i] != 1) {
      ASSERT_EQ(after[i], before[i]);
    }
  }
}

TEST(Rendezvous, OneWithSomewhatMoreIsNot) {
  std::vector<Contender> contenders = hosts(4, 0.5);
  contenders[1].cost = 1.5;  // 6 requests on 4 cores, the others have 2
  EXPECT_EQ(firsts(contenders), firsts(hosts(4)));
}

TEST(Rendezvous, WhereAllHaveMuchTheHashAloneCounts) { EXPECT_EQ(firsts(hosts(4, 50)), firsts(hosts(4))); }

TEST(Rendezvous, OneHostIsAlwaysTheFirst) { EXPECT_EQ(first_within_bound(1, hosts(1, 1e9)), 0U); }

}  // namespace
}  // namespace balance
