// SPDX-License-Identifier: MIT
// Plans as text, and pages with what is no markup masked.
#include <gtest/gtest.h>

#include "balance/forms/masking.h"
#include "balance/forms/plan_text.h"

namespace balance::forms {
namespace {

TEST(FormsMask, KeepsLengthAndPrintsAscii) {
  const std::string page = "\xEF\xBB\xBF<a\t[b]\r\n\xE9 <? x ?>>[if name=\"]\"]<%x%>";
  const auto masked = mask(page);
  EXPECT_EQ(masked.text,
            "   <a xxx \nx xxxxxxx>             "
            "     ");
  EXPECT_EQ(masked.programs.size(), 2U);
  EXPECT_EQ(masked.tags.size(), 2U);
}

TEST(FormsPlan, ReadsBackAsItWasWritten) {
  const Plan plan{{{3, 5}, {5, 9}}, {{0, Weight::unsure, "a b"}, {7, Weight::note, "c"}}};
  const auto text = to_text(plan);
  const auto read = parse_plan(text, 9);
  ASSERT_TRUE(read);
  EXPECT_EQ(to_text(*read), text);
  EXPECT_EQ(read->remarks, plan.remarks);
}

TEST(FormsPlan, RefusesEveryTruncationAndWhatDoesNotFitTheFile) {
  const auto text = to_text(Plan{{{3, 5}, {5, 9}}, {{7, Weight::note, "c"}}});
  for (std::size_t length = 0; length < text.size(); ++length) EXPECT_FALSE(parse_plan(text.substr(0, length), 9));
  EXPECT_FALSE(parse_plan(text, 8));
  EXPECT_FALSE(parse_plan("edit 5 3\nend\n", 9));
  EXPECT_FALSE(parse_plan("edit 3 5\nedit 4 6\nend\n", 9));
  EXPECT_FALSE(parse_plan("note x\nend\n", 9));
  EXPECT_FALSE(parse_plan("end\nend\n", 9));
}

}  // namespace
}  // namespace balance::forms
