// SPDX-License-Identifier: MIT
#include "balance/front/arrival.h"

#include <gtest/gtest.h>

namespace balance {
namespace {

using base::Instant;
using base::Seconds;

constexpr Seconds kSilence{30};

Instant at(double seconds) { return Instant{Seconds{1000 + seconds}}; }

TEST(Arrival, IsTooSlowAfterSoLongASilence) {
  EXPECT_FALSE(is_too_slow({at(5), at(5), 10}, at(34.9), kSilence));
  EXPECT_TRUE(is_too_slow({at(0), at(5), 1'000'000}, at(35), kSilence));
}

TEST(Arrival, AByteNowAndThenIsNotEnough) {
  EXPECT_FALSE(is_too_slow({at(0), at(29), 3}, at(30), kSilence));
  EXPECT_TRUE(is_too_slow({at(0), at(31), 100}, at(31), kSilence));
  EXPECT_FALSE(is_too_slow({at(0), at(31), 500}, at(31), kSilence));
}

TEST(Arrival, ASlowButSteadyUploadMayTakeLong) {
  EXPECT_FALSE(is_too_slow({at(0), at(600), 600 * 1000}, at(600), kSilence));
}

TEST(Arrival, OneThatHasJustBegunIsNotDisplaced) {
  EXPECT_FALSE(may_be_displaced({at(0), at(0), 0}, at(0.99)));
  EXPECT_TRUE(may_be_displaced({at(0), at(0), 0}, at(1)));
}

TEST(Arrival, OneThatStandsStillIsDisplacedHoweverMuchCame) {
  EXPECT_FALSE(may_be_displaced({at(0), at(1.6), 60'000'000}, at(2)));
  EXPECT_TRUE(may_be_displaced({at(0), at(1.5), 60'000'000}, at(2)));
}

TEST(Arrival, BytesThatDripInDoNotHoldAPlace) {
  EXPECT_TRUE(may_be_displaced({at(0), at(10), 10 * 4000}, at(10)));
  EXPECT_FALSE(may_be_displaced({at(0), at(10), 10 * 4100}, at(10)));
}

}  // namespace
}  // namespace balance
