// SPDX-License-Identifier: MIT
#include "loadprobe/base/text.h"

#include <gtest/gtest.h>

#include <array>

namespace base {
namespace {

TEST(Text, ComparesAsciiWithoutCaseAndNothingElse) {
  EXPECT_TRUE(same_ignoring_case("GetMap", "GETMAP"));
  EXPECT_FALSE(same_ignoring_case("GetMap", "GetMaps"));
  EXPECT_FALSE(same_ignoring_case("\xC4", "\xE4"));
  EXPECT_EQ(lower("X-Balance-Host@["), "x-balance-host@[");
}

TEST(Text, TrimsBothEndsOnly) {
  EXPECT_EQ(trim(" \t a b\r\n"), "a b");
  EXPECT_EQ(trim(" \t "), "");
  EXPECT_EQ(trim(""), "");
}

TEST(Text, SplitKeepsEmptyPieces) {
  EXPECT_EQ(split("a,,b,", ','), (std::vector<std::string_view>{"a", "", "b", ""}));
  EXPECT_EQ(split("", ','), (std::vector<std::string_view>{""}));
}

TEST(Text, WordsPassOverRunsOfBlanks) {
  EXPECT_EQ(words("  a \t bc "), (std::vector<std::string_view>{"a", "bc"}));
  EXPECT_TRUE(words(" \t").empty());
  EXPECT_TRUE(words("").empty());
}

TEST(Text, NumberIsTheWholeTextOrNothing) {
  EXPECT_EQ(number("1"), 1.0);
  EXPECT_EQ(number("-0.5"), -0.5);
  EXPECT_EQ(number("3e2"), 300.0);
  EXPECT_EQ(number("1.7614e+09"), 1.7614e9);
  for (const char* bad :
       {"", "+1", "0x10", "inf", "-inf", "nan", "nan(1)", "1 ", " 1", "1,5", "1.5.2", "1e", "e3", "1e999"}) {
    EXPECT_FALSE(number(bad)) << bad;
  }
}

TEST(Text, WholeNumberRefusesSignsFractionsAndOverflow) {
  EXPECT_EQ(whole_number("18446744073709551615"), 18446744073709551615ULL);
  for (const char* bad : {"", "-1", "+1", "1.0", "1e3", "18446744073709551616", "1 "}) {
    EXPECT_FALSE(whole_number(bad)) << bad;
  }
}

TEST(Text, DurationNeedsAUnit) {
  EXPECT_EQ(duration("250ms")->count(), 0.25);
  EXPECT_EQ(duration("2s")->count(), 2);
  EXPECT_EQ(duration("1.5m")->count(), 90);
  EXPECT_EQ(duration("1h")->count(), 3600);
  EXPECT_EQ(duration("366d")->count(), 366.0 * 86400);
  EXPECT_EQ(duration("0s")->count(), 0);
  EXPECT_EQ(duration("5").error().what, "'5' is no duration; wanted a number and ms, s, m, h or d, as in '250ms'");
  for (const char* bad : {"", "s", "5 s", "5sec", "S", "ms250", "1.2.3s", "nans", "5s "}) {
    EXPECT_FALSE(duration(bad)) << bad;
  }
}

TEST(Text, DurationIsBounded) {
  EXPECT_EQ(duration("-1s").error().what, "'-1s' is out of range; wanted 0s to 366d");
  EXPECT_EQ(duration("367d").error().what, "'367d' is out of range; wanted 0s to 366d");
}

TEST(Text, SizeUnitsArePowersOf1024) {
  EXPECT_EQ(*size_bytes("300"), 300U);
  EXPECT_EQ(*size_bytes("1kB"), 1024U);
  EXPECT_EQ(*size_bytes("64MB"), 64U << 20);
  EXPECT_EQ(*size_bytes("2GB"), 2ULL << 30);
  EXPECT_EQ(size_bytes("17179869184GB").error().what, "'17179869184GB' is too large; wanted less than 2^64 bytes");
  for (const char* bad : {"", "MB", "-1MB", "1.5MB", "1 MB", "1mb", "1TB"}) EXPECT_FALSE(size_bytes(bad)) << bad;
}

TEST(Text, NumbersAreWrittenShortestAndReadBackTheSame) {
  EXPECT_EQ(to_text(0.25), "0.25");
  EXPECT_EQ(to_text(3.0), "3");
  EXPECT_EQ(to_text(0.0), "0");
  EXPECT_EQ(to_text(100000.0), "100000");
  EXPECT_EQ(to_text(-1.5), "-1.5");
  EXPECT_EQ(to_text(1e300), "1e+300");
  for (const double value : {0.1, 1.0 / 3, 1.7614e9, 123456789.123456789, 5e-324, 1.7976931348623157e308, 9e15, 2e-5}) {
    EXPECT_EQ(number(to_text(value)), value);
  }
}

TEST(Text, DurationsAreWrittenInTheLargestUnitThatKeepsThemWhole) {
  EXPECT_EQ(to_text(Seconds{0.25}), "250ms");
  EXPECT_EQ(to_text(Seconds{2}), "2s");
  EXPECT_EQ(to_text(Seconds{600}), "10m");
  EXPECT_EQ(to_text(Seconds{90}), "90s");
  EXPECT_EQ(to_text(Seconds{86400}), "1d");
  EXPECT_EQ(to_text(Seconds{0}), "0s");
  EXPECT_EQ(to_text(Seconds{0.3}), "300ms");
  EXPECT_EQ(to_text(Seconds{0.0001}), "0.1ms");
}

TEST(Text, NearestFindsSwapsAndSlips) {
  constexpr std::array<std::string_view, 4> kKnown{"weight", "host", "mode", "listen"};
  EXPECT_EQ(nearest("wieght", kKnown), "weight");
  EXPECT_EQ(nearest("lisen", kKnown), "listen");
  EXPECT_EQ(nearest("hosts", kKnown), "host");
  EXPECT_EQ(nearest("colour", kKnown), "");
  EXPECT_EQ(nearest("", kKnown), "");
  EXPECT_EQ(nearest(std::string(100000, 'x'), kKnown), "");
}

TEST(Text, EscapesWhatATerminalOrALogLineWouldObey) {
  EXPECT_EQ(escaped("a b\n\"'\\\x1B\x7F\xE4z"), "a b\\x0A\\x22'\\x5C\\x1B\\x7F\\xE4z");
  EXPECT_EQ(escaped("abcdef", 3), "abc...");
  EXPECT_EQ(escaped("abc", 3), "abc");
}

TEST(Text, PrintableKeepsWordsOfAnyScriptAndNothingThatActs) {
  EXPECT_EQ(printable(" kernel update\n", 200), "kernel update");
  EXPECT_EQ(printable("\xD0\xBE\xD0\xB1 \xE2\x82\xAC \xF0\x9F\x97\xBA", 200),
            "\xD0\xBE\xD0\xB1 \xE2\x82\xAC \xF0\x9F\x97\xBA");
  EXPECT_EQ(printable("a\x1B[2Jb\x7F\xC2\x9B"
                      "c\xE2\x80\xAE",
                      200),
            "a?[2Jb??c?");
  EXPECT_EQ(printable("a\nb\tc", 200), "a b c");
}

TEST(Text, PrintableReplacesInvalidBytesOneByOne) {
  EXPECT_EQ(printable("\xFF\xC0\xAF\xE2\x82", 200), "?????");
  EXPECT_EQ(printable("\xED\xA0\x80", 200), "???");
  EXPECT_EQ(printable("\xEF\xBF\xBE\xEF\xBF\xBF\xF0\x9F\xBF\xBF", 200),
            "???");  // noncharacters: no XML with them is read
  EXPECT_EQ(printable("\xF4\x90\x80\x80?", 200), "?????");
}

TEST(Text, PrintableCutsBetweenCharacters) {
  EXPECT_EQ(printable("ab\xE2\x82\xAC", 4), "ab");
  EXPECT_EQ(printable("abcdef", 3), "abc");
}

TEST(Text, FingerprintIsFnv1a) {
  EXPECT_EQ(fingerprint(""), 0xcbf29ce484222325ULL);
  EXPECT_EQ(fingerprint("a"), 0xaf63dc4c8601ec8cULL);
  EXPECT_EQ(fingerprint("foobar"), 0x85944171f73967e8ULL);
}

}  // namespace
}  // namespace base
