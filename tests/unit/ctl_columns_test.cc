// SPDX-License-Identifier: MIT
#include <gtest/gtest.h>

#include <limits>

#include "balance/ctl/columns.h"

namespace balance {
namespace {

TEST(Columns, AreAsWideAsTheirWidestCell) {
  Columns columns;
  columns.heading("HOST", Align::left);
  columns.heading("N", Align::right);
  columns.heading("CAUSE", Align::left);
  columns.row({"pinchot", "5", ""});
  columns.row({"a", "12345", "x y"});
  EXPECT_EQ(columns.to_text(),
            "HOST         N  CAUSE\n"
            "pinchot      5\n"
            "a        12345  x y\n");
}

TEST(Columns, WithoutRowsTheHeadingStays) {
  Columns columns;
  columns.heading("HOST", Align::left);
  EXPECT_EQ(columns.to_text(), "HOST\n");
}

TEST(Rounded, KeepsItsDigitsAndShowsADashForNothing) {
  EXPECT_EQ(rounded(0.256, Digits{2}), "0.26");
  EXPECT_EQ(rounded(3, Digits{0}), "3");
  EXPECT_EQ(rounded(1e300, Digits{0}).size(), 301U);
  EXPECT_EQ(rounded(std::nullopt, Digits{1}), "-");
  EXPECT_EQ(rounded(std::numeric_limits<double>::quiet_NaN(), Digits{1}), "-");
  EXPECT_EQ(percent(0.125), "12.5%");
}

TEST(AgeText, GrowsCoarserWithAge) {
  using base::Seconds;
  EXPECT_EQ(age_text(std::nullopt), "never");
  EXPECT_EQ(age_text(Seconds{-1}), "0.0s");
  EXPECT_EQ(age_text(Seconds{0.25}), "0.2s");
  EXPECT_EQ(age_text(Seconds{9.94}), "9.9s");
  EXPECT_EQ(age_text(Seconds{9.96}), "9s");
  EXPECT_EQ(age_text(Seconds{119.9}), "119s");
  EXPECT_EQ(age_text(Seconds{120}), "2m");
  EXPECT_EQ(age_text(Seconds{7200}), "2h");
  EXPECT_EQ(age_text(Seconds{172800}), "2d");
}

TEST(Json, StringsAreEscaped) {
  EXPECT_EQ(json_string("plain"), "\"plain\"");
  EXPECT_EQ(json_string("Gr\xc3\xb6\xc3\x9f"
                        "e"),
            "\"Gr\xc3\xb6\xc3\x9f"
            "e\"");
  EXPECT_EQ(json_string("a\"b\\c\n\x1b\x7f\xc3"), "\"a\\\"b\\\\c\\u000a\\u001b\\u007f?\"");
}

TEST(Json, WhatIsNoNumberIsNull) {
  EXPECT_EQ(json_number(0.25), "0.25");
  EXPECT_EQ(json_number(std::nullopt), "null");
  EXPECT_EQ(json_number(std::numeric_limits<double>::infinity()), "null");
}

}  // namespace
}  // namespace balance
