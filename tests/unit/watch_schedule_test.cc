// SPDX-License-Identifier: MIT
// When each host has its turn.
#include <gtest/gtest.h>

#include <algorithm>
#include <vector>

#include "balance/watch/schedule.h"

namespace balance {
namespace {

base::Instant at(double seconds) { return base::Instant{base::Seconds{seconds}}; }

TEST(Schedule, KeepsADueInstantThatIsStillToCome) { EXPECT_EQ(next_due(at(5), base::Seconds{0.25}, at(4.9)), at(5)); }

TEST(Schedule, StepsOneIntervalOnAtTheDueInstant) { EXPECT_EQ(next_due(at(5), base::Seconds{0.25}, at(5)), at(5.25)); }

TEST(Schedule, StaysOnItsGridWhenTurnsWereMissed) {
  EXPECT_EQ(next_due(at(5), base::Seconds{0.25}, at(6.1)), at(6.25));
}

TEST(Schedule, SpreadsSixteenHostsOverTheInterval) {
  std::vector<double> phases;
  for (std::size_t i = 0; i < 16; ++i) phases.push_back(phase_of(i));
  std::sort(phases.begin(), phases.end());
  double widest = 1 - phases.back() + phases.front();
  for (std::size_t i = 1; i < phases.size(); ++i) widest = std::max(widest, phases[i] - phases[i - 1]);
  EXPECT_LT(widest, 2.0 / 16);
}

}  // namespace
}  // namespace balance
