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
  EXPECT_EQ(text.faults, (Lines{"f:1: weight is 'heavy'; wanted 0 to 1000, with at most six digits behind the point",
                                "f:2: duty is 'drainning'; wanted draining, off or serving",
                                "f:3: until is 'tomorrow'; wanted a time such as 2026-11-30T13:00:00Z",
                                "f:4: found '\\x01\\x02'; wanted the name of a host",
                                "f:5: pinchot has a line already; wanted one line a host, the first counts",
                                "f: and 4 more of the kind"}));
  EXPECT_EQ(parsed("capra colour=red weight=1001 weight=0.1234567 weight boot=x").faults,
            (Lines{"f:1: found 'colour'; wanted weight=, duty=, since=, until= or reason=",
                   "f:1: weight is '1001'; wanted 0 to 1000, with at most six digits behind the point",
                   "f:1: weight is '0.1234567'; wanted 0 to 1000, with at most six digits behind the point",
                   "f:1: weight is ''; wanted 0 to 1000, with at most six digits behind the point",
                   "f:1: boot is 'x'; wanted the id of a boot, or its first letters"}));
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

// A hundred lines, at every command.
TEST(HandFile, OfGarbageNamesFiveFaultsAndCountsTheRest) {
  std::string garbage;
  for (int i = 0; i < 5000; ++i) garbage += std::string("\xff\x00=;", 4) + std::to_string(i) + "\n";
  const HandText text = parsed(garbage);
  EXPECT_EQ(text.entries.size(), 0U);
  ASSERT_EQ(text.faults.size(), 6U);
  EXPECT_EQ(text.faults.back(), "f: and 4995 more of the kind");
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
  EXPECT_EQ(text.faults.back(), "f: and 389995 more of the kind");
  EXPECT_NE(text.faults[0].find("10001: found the line of another host; wanted at most 10000"), std::string::npos);
}

// 'off --for 2h' on 2026-11-30 at 11:00 in a boot that began two days before.
HandEntry for_two_hours() {
  return {.host = "leopold",
          .duty = Duty::off,
          .since = 1796036400,
          .until = 1796036400 + 7200,
          .boot = "3f2a9c81",
          .booted = 1796036400 - 172800};
}
// So much later, in that boot or another one, by a clock that was set by `jump`.
HandClocks later(std::int64_t seconds, std::int64_t jump, const std::string& boot = "3f2a9c81") {
  return {.wall = 1796036400 + seconds + jump, .boot = boot, .booted = 1796036400 - 172800 + jump};
}
std::int64_t left(HandEntry entry, const HandClocks& now) {
  bring_up_to_date(entry, now);
  return *entry.until - now.wall;
}

TEST(HandFile, KeepsTheBootOfADuty) {
  const std::string text = hand_text_of({for_two_hours()}, "c");
  EXPECT_NE(text.find("\nleopold duty=off since=2026-11-30T11:00:00Z until=2026-11-30T13:00:00Z boot=3f2a9c81 "
                      "booted=2026-11-28T11:00:00Z\n"),
            std::string::npos)
      << text;
  EXPECT_EQ(parsed(text).entries, std::vector<HandEntry>{for_two_hours()});
  EXPECT_EQ(parsed(text).faults, Lines{});
}

TEST(HandFile, AClockThatIsSetMovesNoEnd) {
  for (const std::int64_t jump : {0, 1, -1, 10800, -10800, 86400 * 365, -86400 * 365}) {
    EXPECT_EQ(left(for_two_hours(), later(600, jump)), 6600) << jump;
    EXPECT_EQ(left(for_two_hours(), later(7200, jump)), 0) << jump;
    EXPECT_EQ(left(for_two_hours(), later(9000, jump)), -1800) << jump;
  }
}

TEST(HandFile, AClockThatIsSetAgainAndAgainBetweenChangesMovesNoEnd) {
  HandEntry entry = for_two_hours();
  std::int64_t jump = 0;
  for (int minute = 1; minute <= 100; ++minute) {
    jump += minute % 2 == 0 ? 86400 : -5000;
    const HandClocks now = later(minute * 60, jump);
    bring_up_to_date(entry, now);
    entry = parsed(hand_text_of({entry}, "c")).entries.at(0);  // each time balancectl writes it again
    EXPECT_EQ(*entry.until - now.wall, 7200 - minute * 60) << minute;
    EXPECT_EQ(*entry.until - *entry.since, 7200);
  }
}

TEST(HandFile, AfterARebootADutyEndsByTheWallClock) {
  EXPECT_EQ(left(for_two_hours(), later(600, 0, "another0")), 6600);
  EXPECT_EQ(left(for_two_hours(), later(7300, 0, "another0")), -100);
  EXPECT_EQ(left(for_two_hours(), later(600, 0, "")), 6600);  // a boot that cannot be told is another one
  HandEntry of_people = for_two_hours();
  of_people.boot.clear();
  of_people.booted.reset();
  EXPECT_EQ(left(of_people, later(600, 0)), 6600);
}

// A machine whose clock begins in 1970 would have kept it off for 56 years.
TEST(HandFile, AfterARebootAClockThatIsBehindGivesNoMoreThanTheWholeTime) {
  const HandClocks of_1970{.wall = 100, .boot = "another0", .booted = 40};
  EXPECT_EQ(left(for_two_hours(), of_1970), 7200);
  // Once the clock is right it is the right end again, as the file has it still.
  EXPECT_EQ(left(for_two_hours(), later(900, 0, "another0")), 6300);
  // And where it was written again by that clock, it ends in this boot all the same.
  HandEntry entry = for_two_hours();
  bring_up_to_date(entry, of_1970);
  EXPECT_EQ(left(entry, {.wall = 1796040000, .boot = "another0", .booted = 1796040000 - 660}), 7200 - 600);
}

TEST(HandFile, WhatHasNoEndIsNotTouched) {
  HandEntry entry{.host = "leopold", .duty = Duty::off, .since = 1796036400};
  const HandEntry before = entry;
  bring_up_to_date(entry, later(600, 99));
  EXPECT_EQ(entry, before);
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
