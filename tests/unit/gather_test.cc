// SPDX-License-Identifier: MIT
#include "balance/pool/gather.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <set>

namespace balance {
namespace {

// A pool of hosts with one core and these weights; what was read is counted.
struct Hosts {
  std::vector<double> weights;
  std::vector<Tier> tiers;
  std::size_t reads = 0;

  explicit Hosts(std::size_t n) : weights(n, 1), tiers(n, Tier::usable) {}

  std::vector<Candidate> gathered(Draw& draw, std::optional<std::size_t> preferred = std::nullopt) {
    const double greatest = *std::max_element(weights.begin(), weights.end());
    return gather(Field{weights.size(), greatest, {preferred, std::nullopt}}, draw, [this](std::size_t i) {
      ++reads;
      return candidate(i);
    });
  }
  std::optional<Candidate> candidate(std::size_t i) const {
    if (weights[i] == 0) return std::nullopt;
    Candidate result;
    result.host = i;
    result.tier = tiers[i];
    result.weight = weights[i];
    return result;
  }
};

TEST(Gather, OfAnEmptyPoolIsEmpty) {
  Draw draw{1};
  const auto none = gather(Field{0, 1, {}}, draw, [](std::size_t) { return std::optional<Candidate>(); });
  EXPECT_TRUE(none.empty());
}

TEST(Gather, TakesAllOf32) {
  Hosts hosts(32);
  hosts.tiers[3] = Tier::down;
  Draw draw{1};
  EXPECT_EQ(hosts.gathered(draw).size(), 32U);
}

TEST(Gather, LeavesOutWhatTheRequestMayNotHave) {
  Hosts hosts(3);
  hosts.weights[1] = 0;
  Draw draw{1};
  const auto two = hosts.gathered(draw);
  ASSERT_EQ(two.size(), 2U);
  EXPECT_EQ(two[0].host, 0U);
  EXPECT_EQ(two[1].host, 2U);
}

TEST(Gather, DrawsEightDifferentOnesOfAThousand) {
  Hosts hosts(1000);
  Draw draw{7};
  for (int i = 0; i < 200; ++i) {
    hosts.reads = 0;
    const auto drawn = hosts.gathered(draw);
    std::set<std::size_t> different;
    for (const Candidate& candidate : drawn) different.insert(candidate.host);
    EXPECT_EQ(different.size(), 8U);
    EXPECT_LT(hosts.reads, 20U);
  }
}

TEST(Gather, DrawsAThousandInProportionToTheirWeights) {
  Hosts hosts(1000);
  for (std::size_t i = 0; i < 1000; ++i) hosts.weights[i] = i % 4 == 0 ? 3 : 1;
  Draw draw{11};
  double heavy = 0, all = 0;
  for (int i = 0; i < 5000; ++i) {
    for (const Candidate& candidate : hosts.gathered(draw)) {
      all += 1;
      heavy += candidate.weight == 3 ? 1 : 0;
    }
  }
  EXPECT_NEAR(heavy / all, 0.5, 0.01);  // 250 x 3 of 250 x 3 + 750
}

TEST(Gather, DrawsEveryHostAlikeWhereWeightsAreAlike) {
  Hosts hosts(100);
  Draw draw{5};
  std::array<int, 100> counts{};
  for (int i = 0; i < 10000; ++i) {
    for (const Candidate& candidate : hosts.gathered(draw)) ++counts.at(candidate.host);
  }
  const auto [least, most] = std::minmax_element(counts.begin(), counts.end());
  EXPECT_GT(*least, 680);  // 800 each
  EXPECT_LT(*most, 920);
}

TEST(Gather, DrawsNoneThatIsNotUsable) {
  Hosts hosts(1000);
  for (std::size_t i = 0; i < 500; ++i) hosts.tiers[i] = Tier::silent;
  Draw draw{2};
  for (const Candidate& candidate : hosts.gathered(draw)) EXPECT_EQ(candidate.tier, Tier::usable);
}

TEST(Gather, LooksAtAllWhereTooFewAreUsable) {
  Hosts hosts(1000);
  std::fill(hosts.tiers.begin(), hosts.tiers.end(), Tier::down);
  hosts.tiers[777] = Tier::usable;
  Draw draw{3};
  EXPECT_EQ(hosts.gathered(draw).size(), 1000U);
  EXPECT_LE(hosts.reads, 1256U);
}

TEST(Gather, LooksAtAllWhereOneHostOutweighsTheRest) {
  Hosts hosts(100);
  hosts.weights[42] = 1000;
  Draw draw{3};
  EXPECT_EQ(hosts.gathered(draw).size(), 100U);
}

TEST(Gather, AddsThePreferredHostToTheDrawnOnes) {
  Hosts hosts(1000);
  Draw draw{9};
  for (int i = 0; i < 20; ++i) {
    const auto drawn = hosts.gathered(draw, 123);
    EXPECT_EQ(std::count_if(drawn.begin(), drawn.end(), [](const Candidate& c) { return c.host == 123; }), 1);
  }
}

TEST(Gather, PassesOverAPreferredHostThatIsNone) {
  Hosts hosts(1000);
  Draw draw{9};
  EXPECT_EQ(hosts.gathered(draw, 1000).size(), 8U);
}

TEST(Gather, IsTheSameForTheSameDraw) {
  Hosts hosts(1000);
  Draw one{4}, two{4};
  const auto a = hosts.gathered(one), b = hosts.gathered(two);
  ASSERT_EQ(a.size(), b.size());
  for (std::size_t i = 0; i < a.size(); ++i) EXPECT_EQ(a[i].host, b[i].host);
}

TEST(Gather, WithAGreatestCapacityOfNothingStillFindsHosts) {
  Hosts hosts(1000);
  Draw draw{4};
  const auto drawn = gather(Field{1000, 0, {}}, draw, [&](std::size_t i) { return hosts.candidate(i); });
  EXPECT_EQ(drawn.size(), 8U);
}

TEST(Gather, DrawsAsManyOfALargePoolAsItIsTold) {
  Draw draw{5};
  const auto drawn = gather(Field{1000, 1, {}, kDrawnForRelay}, draw, [](std::size_t i) {
    Candidate candidate;
    candidate.host = i;
    return std::optional(candidate);
  });
  std::set<std::size_t> different;
  for (const Candidate& candidate : drawn) different.insert(candidate.host);
  EXPECT_EQ(drawn.size(), kDrawnForRelay);
  EXPECT_EQ(different.size(), kDrawnForRelay);
}

}  // namespace
}  // namespace balance
