// SPDX-License-Identifier: MIT
#include "balance/pool/by_hand.h"

#include <gtest/gtest.h>

namespace balance {
namespace {

Instant at(double seconds) { return Instant{Seconds{seconds}}; }

TEST(ByHand, IsReadAsItWasPacked) {
  EXPECT_EQ(packed(ByHand{}), 0U);
  EXPECT_EQ(by_hand_of(0), ByHand{});
  for (const ByHand& said : {ByHand{.weight = 0}, ByHand{.weight = 0.1}, ByHand{.weight = 999.999999},
                             ByHand{.weight = 1000, .duty = Duty::off}, ByHand{.duty = Duty::draining},
                             ByHand{.duty = Duty::off, .until = at(1234.125)},
                             ByHand{.weight = 1e-6, .duty = Duty::draining, .until = at(2e8)}}) {
    EXPECT_EQ(by_hand_of(packed(said)), said);
  }
}

TEST(ByHand, AnEndIsRoundedUpAndOneBeforeThisBootIsOver) {
  EXPECT_EQ(by_hand_of(packed({.duty = Duty::off, .until = at(10.01)})).until, at(10.125));
  const ByHand over = by_hand_of(packed({.duty = Duty::off, .until = at(-5000)}));
  EXPECT_EQ(duty_at(over, at(1)), Duty::serving);
  EXPECT_EQ(by_hand_of(packed({.duty = Duty::serving, .until = at(10)})).until, std::nullopt);
}

TEST(ByHand, ADutyEndsAtItsInstantWhoeverWatches) {
  const ByHand said{.duty = Duty::draining, .until = at(100)};
  EXPECT_EQ(duty_at(said, at(99.9)), Duty::draining);
  EXPECT_EQ(duty_at(said, at(100)), Duty::serving);
  EXPECT_EQ(duty_at({.duty = Duty::off}, at(1e9)), Duty::off);
}

TEST(ByHand, GarbageIsSane) {
  for (std::uint64_t word = 1; word != 0; word *= 2) {
    for (const std::uint64_t garbage : {word, ~word, word * 0x9e3779b97f4a7c15U}) {
      const ByHand said = by_hand_of(garbage);
      EXPECT_TRUE(!said.weight || (*said.weight >= 0 && *said.weight <= 1000));
      EXPECT_TRUE(said.duty <= Duty::off);
      EXPECT_EQ(by_hand_of(packed(said)), said);
    }
  }
}

TEST(ByHand, WeightsDifferAsTheyAreInForce) {
  std::vector<HostConfig> hosts(3);
  hosts[2].weight = 0;
  EXPECT_EQ(weights_differ(hosts, {{}, {}, {}}), std::nullopt);
  EXPECT_EQ(weights_differ(hosts, {{.weight = 1}, {}, {}}), false);
  EXPECT_EQ(weights_differ(hosts, {{.weight = 2}, {}, {}}), true);
  EXPECT_EQ(weights_differ(hosts, {{.weight = 2}, {.weight = 2}, {}}), false);
  EXPECT_EQ(weights_differ(hosts, {{.weight = 0}, {}, {}}), false);
  hosts[0].weight = 2;
  EXPECT_EQ(weights_differ(hosts, {{}, {.weight = 2}, {}}), false);
}

}  // namespace
}  // namespace balance
