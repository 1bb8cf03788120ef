// SPDX-License-Identifier: MIT
#include "balance/pool/prediction.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstdint>

namespace balance {
namespace {

using base::Instant;
using base::Seconds;

Instant at(double seconds) { return Instant{Seconds{seconds}}; }

constexpr std::uint64_t kNan = 0x7fc00000ULL << 32;
constexpr std::uint64_t kInfinity = 0x7f800000ULL << 32;
constexpr std::uint64_t kMinusOne = 0xbf800000ULL << 32;
constexpr std::uint64_t kOneAndAHalf = 0x3fc00000ULL << 32;

TEST(Prediction, IsAFloatAboveMillisecondTicks) { EXPECT_EQ(packed({1.5, at(2.5)}), kOneAndAHalf | 2500U); }

TEST(Prediction, SurvivesTheWord) {
  const Prediction back = unpacked(packed({3.25, at(1234.567)}), at(1240));
  EXPECT_DOUBLE_EQ(back.requests, 3.25);
  EXPECT_NEAR(back.at.time_since_epoch().count(), 1234.567, 1e-6);
}

TEST(Prediction, ReadsTicksFromBeforeTheyWrapped) {
  constexpr double kWrap = 4294967.296;
  const Prediction back = unpacked(packed({1, at(kWrap - 0.5)}), at(kWrap + 0.5));
  EXPECT_NEAR(back.at.time_since_epoch().count(), kWrap - 0.5, 1e-3);
}

TEST(Prediction, ReadsTicksOfAProcessThatIsAMomentAhead) {
  const Prediction back = unpacked(packed({1, at(100.003)}), at(100));
  EXPECT_NEAR(back.at.time_since_epoch().count(), 100.003, 1e-6);
}

TEST(Prediction, OfAnEmptyWordIsIdle) { EXPECT_EQ(unpacked(0, at(5)).requests, 0); }

TEST(Prediction, OfGarbageIsNeverNanOrNegativeOrHuge) {
  EXPECT_EQ(unpacked(kNan, at(5)).requests, 0);
  EXPECT_EQ(unpacked(kMinusOne, at(5)).requests, 0);
  EXPECT_EQ(unpacked(kInfinity, at(5)).requests, 1e6);
  for (std::uint64_t i = 0; i < 4096; ++i) {
    const Prediction any = unpacked(i * 0x001fffffffffffffULL + i, at(5));
    EXPECT_GE(any.requests, 0);
    EXPECT_LE(any.requests, 1e6);
  }
}

TEST(Prediction, OfTooManyRequestsIsBoundedInTheWord) {
  EXPECT_EQ(unpacked(packed({1e30, at(5)}), at(5)).requests, 1e6);
  EXPECT_EQ(unpacked(packed({std::nan(""), at(5)}), at(5)).requests, 0);
}

TEST(Drain, TakesCoresOverMeanRequestsASecondWhileAllCoresAreBusy) {
  const Prediction after = drained({10, at(0)}, {4, 0.2, at(1e12)}, at(0.1));
  EXPECT_DOUBLE_EQ(after.requests, 8);  // 4 cores / 0.2 s x 0.1 s
  EXPECT_EQ(after.at, at(0.1));
}

TEST(Drain, IsExponentialWithFewerRequestsThanCores) {
  EXPECT_NEAR(drained({2, at(0)}, {4, 0.2, at(1e12)}, at(0.2)).requests, 2 * std::exp(-1), 1e-12);
}

TEST(Drain, GoesFromTheOneLawToTheOther) {
  // 8 requests on 4 cores: 0.2 s until 4 are left, then 0.2 s of the other law.
  EXPECT_NEAR(drained({8, at(0)}, {4, 0.2, at(1e12)}, at(0.4)).requests, 4 * std::exp(-1), 1e-12);
}

TEST(Drain, InTwoStepsIsTheSameAsInOne) {
  const Drain drain{4, 0.15, at(1e12)};
  const double once = drained({9, at(0)}, drain, at(0.5)).requests;
  const double twice = drained(drained({9, at(0)}, drain, at(0.21)), drain, at(0.5)).requests;
  EXPECT_NEAR(once, twice, 1e-12);
}

TEST(Drain, StopsWhenTheReportIsOverdue) {
  const Drain drain{1, 0.2, at(1)};
  EXPECT_DOUBLE_EQ(drained({10, at(0.8)}, drain, at(50)).requests, 9);
  EXPECT_DOUBLE_EQ(drained({10, at(2)}, drain, at(50)).requests, 10);
}

TEST(Drain, LeavesAPredictionOfTheFutureAlone) {
  EXPECT_DOUBLE_EQ(drained({3, at(9)}, {4, 0.2, at(1e12)}, at(8)).requests, 3);
}

TEST(Drain, OfALongIdleHostIsZeroAndNoDenormalTrouble) {
  EXPECT_EQ(drained({3, at(0)}, {4, 0.2, at(1e12)}, at(1e6)).requests, 0);
}

}  // namespace
}  // namespace balance
