// SPDX-License-Identifier: MIT
#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <limits>

#include "balance/table/layout.h"
#include "balance/table/words.h"
#include "tests/unit/table_trial.h"

namespace balance {
namespace {

constexpr double kNan = std::numeric_limits<double>::quiet_NaN();
constexpr double kInfinity = std::numeric_limits<double>::infinity();

TEST(ClientEntries, AClientIsRememberedUntilItExpires) {
  ScratchDir dir;
  Table table = make_table(dir / "t", kShape);
  constexpr std::uint64_t kClient = 0xabcdef0123456789U;
  EXPECT_EQ(table.host_of_client(kClient, kNow, Seconds{600}), std::nullopt);
  table.remember_client(kClient, 2, kNow);
  EXPECT_EQ(table.host_of_client(kClient, kNow + Seconds{600}, Seconds{600}), std::optional<std::size_t>(2));
  EXPECT_EQ(table.host_of_client(kClient, kNow + Seconds{601}, Seconds{600}), std::nullopt);
  table.remember_client(kClient, 1, kNow + Seconds{700});
  EXPECT_EQ(table.host_of_client(kClient, kNow + Seconds{701}, Seconds{600}), std::optional<std::size_t>(1));
}

TEST(ClientEntries, OneThatAnotherProcessWroteAMomentLaterIsFresh) {
  ScratchDir dir;
  Table table = make_table(dir / "t", kShape);
  table.remember_client(77, 1, kNow + Seconds{1});
  EXPECT_EQ(table.host_of_client(77, kNow, Seconds{600}), std::optional<std::size_t>(1));
}

TEST(ClientEntries, AFullBucketLosesItsOldest) {
  ScratchDir dir;
  Table table = make_table(dir / "t", kShape);
  const auto client = [](std::uint64_t i) { return (i + 1) << 32; };  // all in bucket 0
  for (std::uint64_t i = 0; i <= layout::kWays; ++i) {
    table.remember_client(client(i), 1, kNow + Seconds{static_cast<double>(i)});
  }
  const Instant later = kNow + Seconds{20};
  EXPECT_EQ(table.host_of_client(client(0), later, Seconds{600}), std::nullopt);
  for (std::uint64_t i = 1; i <= layout::kWays; ++i) {
    EXPECT_EQ(table.host_of_client(client(i), later, Seconds{600}), std::optional<std::size_t>(1)) << i;
  }
}

TEST(ClientEntries, OneThatNamesAHostBeyondThePoolIsPassedOver) {
  ScratchDir dir;
  Table table = make_table(dir / "t", kShape);
  const std::uint64_t word = packed(ClientEntry{.tag = tag_of(0), .host = 3, .seen = seconds_of(kNow)});
  overwrite(dir / "t", layout::buckets_at(3), {reinterpret_cast<const char*>(&word), 8});
  EXPECT_EQ(table.host_of_client(0, kNow, Seconds{600}), std::nullopt);
}

TEST(Words, ASlotNeverFilledIsNothing) {
  EXPECT_EQ(standing_of(HostWords{}), std::nullopt);
  EXPECT_EQ(pool_of(PoolWords{}), std::nullopt);
}

TEST(Words, WhatMakesNoSenseIsNothing) {
  const auto with = [](auto change) {
    Standing standing = example();
    change(standing);
    return standing_of(to_words(standing));
  };
  EXPECT_TRUE(with([](Standing&) {}));
  EXPECT_FALSE(with([](Standing& s) { s.health = Health{4}; }));
  EXPECT_FALSE(with([](Standing& s) { s.duty = Duty{3}; }));
  EXPECT_FALSE(with([](Standing& s) { s.web = WebPort{200}; }));
  EXPECT_FALSE(with([](Standing& s) { s.cores = kNan; }));
  EXPECT_FALSE(with([](Standing& s) { s.cores = -1; }));
  EXPECT_FALSE(with([](Standing& s) { s.cores = 65537; }));
  EXPECT_FALSE(with([](Standing& s) { s.background = kInfinity; }));
  EXPECT_FALSE(with([](Standing& s) { s.mean_service_seconds = 0; }));
  EXPECT_FALSE(with([](Standing& s) { s.running = -1; }));
  EXPECT_FALSE(with([](Standing& s) { s.waiting = 1e30; }));
  EXPECT_FALSE(with([](Standing& s) { s.reported = Instant{Seconds{kNan}}; }));
  EXPECT_FALSE(with([](Standing& s) { s.up_since = Instant{Seconds{1e11}}; }));
  EXPECT_FALSE(pool_of(to_words(PoolStanding{.share = 0})));
  EXPECT_FALSE(pool_of(to_words(PoolStanding{.share = 1.5})));
  EXPECT_FALSE(pool_of(to_words(PoolStanding{.median_cores = 0})));
  EXPECT_FALSE(pool_of(to_words(PoolStanding{.mean_service_seconds = kNan})));
}

TEST(Words, ACauseWithALengthOrBytesThatCannotBeIsNothing) {
  HostWords words = to_words(example());
  words[0] |= std::uint64_t{0xFF} << 24;  // 255 bytes
  EXPECT_FALSE(standing_of(words));
  words = to_words(example());
  words[11] ^= 0x80;  // a byte above 0x7E
  EXPECT_FALSE(standing_of(words));
  words = to_words(example());
  words[11] = (words[11] & ~std::uint64_t{0xFF}) | 0x1B;  // an escape
  EXPECT_FALSE(standing_of(words));
}

}  // namespace
}  // namespace balance
