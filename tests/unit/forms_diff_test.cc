// SPDX-License-Identifier: MIT
// The diff of known edits is what diff -u would print.
#include <gtest/gtest.h>

#include "balance/forms/diff.h"

namespace balance::forms {
namespace {

std::string numbers(int first, int last) {
  std::string text;
  for (int i = first; i <= last; ++i) text += std::to_string(i) + "\n";
  return text;
}

// Every 'OLD' is an edit.
std::string diff(const std::string& text) {
  std::vector<Span> edits;
  for (auto at = text.find("OLD"); at != std::string::npos; at = text.find("OLD", at + 1))
    edits.push_back({at, at + 3});
  return unified_diff("a b.html", text, edits, "newer");
}

constexpr char kHead[] = "--- a b.html\t\n+++ a b.html\t\n";

TEST(FormsDiff, IsEmptyWithoutEdits) { EXPECT_EQ(diff(numbers(1, 9)), ""); }

TEST(FormsDiff, ShowsThreeLinesAround) {
  EXPECT_EQ(diff(numbers(1, 5) + "x OLD y OLD\n" + numbers(7, 12)),
            kHead + std::string("@@ -3,7 +3,7 @@\n 3\n 4\n 5\n-x OLD y OLD\n+x newer y newer\n 7\n 8\n 9\n"));
}

TEST(FormsDiff, PutsFollowingLinesTogether) {
  EXPECT_EQ(diff("1\nOLD a\nOLD b\n4\n"),
            kHead + std::string("@@ -1,4 +1,4 @@\n 1\n-OLD a\n-OLD b\n+newer a\n+newer b\n 4\n"));
}

TEST(FormsDiff, JoinsHunksThatAreSixLinesApartAndNoFurther) {
  EXPECT_EQ(diff("OLD\n" + numbers(2, 7) + "OLD\n"),
            kHead + std::string("@@ -1,8 +1,8 @@\n-OLD\n+newer\n 2\n 3\n 4\n 5\n 6\n 7\n-OLD\n+newer\n"));
  EXPECT_EQ(
      diff("OLD\n" + numbers(2, 8) + "OLD\n"),
      kHead + std::string("@@ -1,4 +1,4 @@\n-OLD\n+newer\n 2\n 3\n 4\n@@ -6,4 +6,4 @@\n 6\n 7\n 8\n-OLD\n+newer\n"));
}

TEST(FormsDiff, MarksAMissingLineEnd) {
  EXPECT_EQ(diff("OLD"), kHead + std::string("@@ -1 +1 @@\n-OLD\n\\ No newline at end of file\n+newer\n"
                                             "\\ No newline at end of file\n"));
  EXPECT_EQ(diff("OLD\n2"), kHead + std::string("@@ -1,2 +1,2 @@\n-OLD\n+newer\n 2\n\\ No newline at end of file\n"));
}

TEST(FormsDiff, KeepsEveryOtherByte) {
  EXPECT_EQ(diff("\xE9\r\rOLD\r\n\x01\r\n"),
            kHead + std::string("@@ -1,2 +1,2 @@\n-\xE9\r\rOLD\r\n+\xE9\r\rnewer\r\n \x01\r\n"));
}

TEST(FormsDiff, HasNoLimitOnLines) {
  const std::string padding(3 << 20, 'x');
  EXPECT_EQ(diff(padding + "OLD\n"), kHead + ("@@ -1 +1 @@\n-" + padding + "OLD\n+" + padding + "newer\n"));
}

}  // namespace
}  // namespace balance::forms
