// SPDX-License-Identifier: MIT
#include "balance/ground/hand_file.h"

#include <gtest/gtest.h>

#include <cmath>

namespace balance {
namespace {

using loadprobe::Duty;
using Lines = std::vector<std::string>;

constexpr std::string_view kExample =
    "# a comment\n"
    "pinchot weight=2.5\n"
    "\n"
    "leopold duty=draining since=2026-11-30T11:00:00Z until=2026-11-30T13:00:00Z reason=kernel update: a=b # c\n"
    "darwin weight=0.000001 duty=off\n"
    "capra duty=serving since=2026-11-30T11:00:00Z reason=patched\n";

HandText parsed(std::string_view text) { return parse_hand_text(text, "f"); }

TEST(HandFile, IsReadAsItWasWritten) {
  const HandText text = parsed(kExample);
  EXPECT_EQ(text.faults, Lines{});
  ASSERT_EQ(text.entries.size(), 4U);
  EXPECT_EQ(text.entries[0], (HandEntry{.host = "pinchot", .weight = 2.5}));
  EXPECT_EQ(text.entries[1], (HandEntry{.host = "leopold",
                                        .duty = Duty::draining,
                                        .since = 1796036400,
                                        .until = 1796043600,
                                        .reason = "kernel update: a=b # c"}));
  EXPECT_EQ(text.entries[2], (HandEntry{.host = "darwin", .weight = 1e-6, .duty = Duty::off}));
  EXPECT_EQ(text.entries[3], (HandEntry{.host = "capra", .since = 1796036400, .reason = "patched"}));
  EXPECT_EQ(parsed(hand_text_of(text.entries, "/etc/x.conf")).entries, text.entries);
}

TEST(HandFile, NamesItsConfigurationForPeople) {
  EXPECT_EQ(hand_text_of({{.host = "pinchot", .weight = 3}, {.host = "silent"}}, "/etc/x.conf"),
            "# What was set by hand for the hosts of /etc/x.conf.\n"
            "# Written by balancectl: 'balancectl weight', 'drain', 'off', 'ready' and 'reset' change it.\n"
            "pinchot weight=3\n");
}

TEST(HandFile, SaysWhereWhatWasFoundAndWantedAndKeepsTheRest) {
  const HandText text = parsed(
      "pinchot weight=heavy duty=draining\n"
      "leopold duty=drainning weight=2\n"
      "darwin duty=off until=tomorrow reason=disk\n"
      "\x01\x02 weight=1\n"
      "pinchot weight=7\n"
      "capra colour=red weight=1001 weight=0.1234567 weight\n"
      "audubon weight=4");
  EXPECT_EQ(text.faults,
            (Lines{"f:1: weight is 'heavy'; wanted 0 to 1000, with at most six digits behind the point",
                   "f:2: duty is 'drainning'; wanted draining, off or serving",
                   "f:3: until is 'tomorrow'; wanted a time such as 2026-11-30T13:00:00Z",
                   "f:4: found '\\x01\\x02'; wanted the name of a host",
                   "f:5: pinchot has a line already; wanted one line a host, the first counts",
                   "f:6: found 'colour'; wanted weight=, duty=, since=, until= or reason=",
                   "f:6: weight is '1001'; wanted 0 to 1000, with at most six digits behind the point",
                   "f:6: weight is '0.1234567'; wanted 0 to 1000, with at most six digits behind the point",
                   "f:6: weight is ''; wanted 0 to 1000, with at most six digits behind the point"}));
  ASSERT_EQ(text.entries.size(), 5U);
  EXPECT_EQ(text.entries[0], (HandEntry{.host = "pinchot", .duty = Duty::draining}));
  EXPECT_EQ(text.entries[1], (HandEntry{.host = "leopold", .weight = 2}));
  EXPECT_EQ(text.entries[2], (HandEntry{.host = "darwin", .duty = Duty::off, .reason = "disk"}));
  EXPECT_EQ(text.entries[4], (HandEntry{.host = "audubon", .weight = 4}));
}

TEST(HandFile, CutAnywhereIsStillUnderstoodUpToThere) {
  for (std::size_t length = 0; length <= kExample.size(); ++length) {
    const HandText text = parsed(kExample.substr(0, length));
    EXPECT_LE(text.entries.size(), 4U);
    EXPECT_LE(text.faults.size(), 2U) << kExample.substr(0, length);
    if (length > 32) {
      EXPECT_EQ(text.entries.at(0).weight, 2.5);
    }
  }
}

TEST(HandFile, OfGarbageHasBoundedFaultsAndNoEntries) {
  std::string garbage;
  for (int i = 0; i < 5000; ++i) garbage += std::string("\xff\x00=;", 4) + std::to_string(i) + "\n";
  const HandText text = parsed(garbage);
  EXPECT_EQ(text.entries.size(), 0U);
  EXPECT_EQ(text.faults.size(), 100U);
}

TEST(HandFile, AReasonCannotEndItsLineOrDriveATerminal) {
  const std::string text =
      hand_text_of({{.host = "a", .duty = Duty::off, .reason = "x\nb weight=9\x1b[2J"}}, "c\nd weight=1");
  const HandText back = parsed(text);
  ASSERT_EQ(back.entries.size(), 1U);
  EXPECT_EQ(back.entries[0].reason, "x b weight=9?[2J");
  EXPECT_EQ(back.faults, Lines{});
}

TEST(HandFile, AWeightHasAtMostSixDigitsBehindThePoint) {
  for (const std::string_view good : {"0", "1000", "0.1", "2.5", "999.999999", "0.000001", "1e-3"}) {
    EXPECT_TRUE(hand_weight(good)) << good;
  }
  for (const std::string_view bad : {"", "-1", "1000.1", "inf", "nan", "0x1", "+1", "1e-7", "1,5", "2 "}) {
    EXPECT_FALSE(hand_weight(bad)) << bad;
  }
}

TEST(HandFile, AWeightTooSmallToKeepDoesNotDrain) {
  for (const std::string_view tiny : {"1e-9", "1e-12", "1e-300", "0.0000004", "2.0000000001"}) {
    EXPECT_FALSE(hand_weight(tiny)) << tiny;
  }
  for (int millionths = 1; millionths < 1'000'000'000; millionths += 99'991) {
    std::string digits = std::to_string(millionths + 10'000'000'000);
    const std::string text = digits.substr(1, 4) + "." + digits.substr(5);
    EXPECT_TRUE(hand_weight(text)) << text;
  }
  EXPECT_FALSE(std::signbit(*hand_weight("-0")));
}

// Minutes, in which poolwatch asked no host and did not end on SIGTERM.
TEST(HandFile, MegabytesOfHostsTakeNoLongerThanReadingThem) {
  std::string many;
  for (int i = 0; i < 400'000; ++i) many += "x" + std::to_string(i) + " weight=3\n";
  const HandText text = parsed(many);
  EXPECT_EQ(text.entries.size(), 10'000U);
  EXPECT_EQ(text.faults.size(), 100U);
  EXPECT_NE(text.faults[0].find("10001: found the line of another host; wanted at most 10000"), std::string::npos);
}

TEST(HandFile, TimesAreUtcBothWays) {
  EXPECT_EQ(utc_text(0), "1970-01-01T00:00:00Z");
  EXPECT_EQ(utc_text(1709210096), "2024-02-29T12:34:56Z");
  EXPECT_EQ(utc_seconds("2024-02-29T12:34:56Z"), 1709210096);
  for (const std::int64_t seconds : {std::int64_t{951782399}, std::int64_t{4102444800}, std::int64_t{253402300799}}) {
    EXPECT_EQ(utc_seconds(utc_text(seconds)), seconds);
  }
  for (const std::string_view bad : {"2023-02-29T12:34:56Z", "2024-13-01T00:00:00Z", "2024-01-01T24:00:00Z",
                                     "2024-01-01 00:00:00Z", "2024-01-01T00:00:00", "20240101T000000Z",
                                     "1969-12-31T23:59:59Z", "-024-01-01T00:00:00Z", "2024-01-01T00:60:00Z"}) {
    EXPECT_EQ(utc_seconds(bad), std::nullopt) << bad;
  }
}

}  // namespace
}  // namespace balance
