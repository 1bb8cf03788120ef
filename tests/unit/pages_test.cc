// SPDX-License-Identifier: MIT
#include "balance/ground/pages.h"

#include <gtest/gtest.h>

namespace balance {
namespace {

bool has(const std::string& text, std::string_view piece) { return text.find(piece) != std::string::npos; }

TEST(Pages, PutValuesInTheirPlacesEscaped) {
  const std::string body = page(Page::unavailable, {{"reason", "<script>alert('\"&')</script>"}, {"seconds", "5"}});
  EXPECT_TRUE(has(body, "&lt;script&gt;alert(&#39;&quot;&amp;&#39;)&lt;/script&gt;"));
  EXPECT_TRUE(has(body, "try again in 5 seconds"));
  EXPECT_FALSE(has(body, "<script"));
}

TEST(Pages, AreWholeDocumentsWithNothingLeftToFill) {
  const std::string bodies[] = {page(Page::unavailable, {{"reason", "x"}, {"seconds", "5"}}),
                                page(Page::loop_detected, {{"reason", "x"}}),
                                page(Page::bad_request, {{"reason", "x"}}), page(Page::internal_error, {})};
  for (const std::string& body : bodies) {
    EXPECT_TRUE(body.starts_with("<!DOCTYPE html>\n<html lang=\"en\">")) << body;
    EXPECT_TRUE(has(body, "</html>")) << body;
    EXPECT_TRUE(has(body, "charset=\"utf-8\"")) << body;
    EXPECT_FALSE(has(body, "{{")) << body;
    EXPECT_FALSE(has(body, "http://")) << body;  // nothing is loaded from anywhere
    EXPECT_LT(body.size(), 2000U);
  }
}

TEST(Pages, AValueThatLooksLikeAPlaceStaysAsItIs) {
  EXPECT_TRUE(has(page(Page::bad_request, {{"reason", "{{reason}}"}}), "<p class=\"why\">{{reason}}</p>"));
}

TEST(PagesDeathTest, AMissingValueIsADefect) { EXPECT_DEATH(page(Page::bad_request, {}), "values.end"); }

TEST(HtmlEscaped, LeavesPlainTextAlone) {
  EXPECT_EQ(html_escaped("mode = relay; \xC3\xA4"), "mode = relay; \xC3\xA4");
  EXPECT_EQ(html_escaped(""), "");
}

}  // namespace
}  // namespace balance
