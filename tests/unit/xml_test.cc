// SPDX-License-Identifier: MIT
#include "balance/ground/xml.h"

#include <gtest/gtest.h>

#include <string>

namespace balance {
namespace {

std::string_view strict(std::string_view text) { return xml_root(text, DocumentType::refused).name; }
std::string_view lenient(std::string_view text) { return xml_root(text, DocumentType::skipped).name; }

TEST(XmlRoot, IsTheLocalNameOfTheOutermostElement) {
  EXPECT_EQ(strict("<GetFeature/>"), "GetFeature");
  EXPECT_EQ(strict("<wfs:GetFeature xmlns:wfs=\"http://www.opengis.net/wfs\">"), "GetFeature");
  EXPECT_EQ(strict("\xEF\xBB\xBF<?xml version='1.0'?>\r\n<!-- <Transaction/> -->\n<a>"), "a");
  EXPECT_EQ(strict(" \t\r\n<a\n>"), "a");
}

TEST(XmlRoot, OfWhatIsNoXmlIsNone) {
  for (const char* text : {"", "plain", "map=WORLD", "{\"a\":1}", "< a>", "<>", "<!a>", "</a>", "<!DOCTYPE a><a>"}) {
    EXPECT_EQ(strict(text), "") << text;
  }
}

TEST(XmlRoot, ADocumentTypeIsSkippedOnlyWhereThatIsAskedForAndItHasNoSubset) {
  const char* const plain = "<?xml version='1.0'?><!DOCTYPE ServiceExceptionReport SYSTEM \"x.dtd\"><S:Root>";
  EXPECT_EQ(lenient(plain), "Root");
  EXPECT_EQ(strict(plain), "");
  EXPECT_EQ(lenient("<!DOCTYPE a [<!ENTITY b \"c\">]><a>"), "");
}

TEST(XmlRoot, OfEveryTruncationMayStillComeAndIsNeverAnother) {
  const std::string whole = "\xEF\xBB\xBF<?xml version='1.0'?><!-- x --><!DOCTYPE a SYSTEM 'b'><w:GetMap x='1'>";
  const std::size_t end = whole.find(" x='1'") + 1;
  for (std::size_t bytes = 0; bytes < whole.size(); ++bytes) {
    const Root root = xml_root(std::string_view(whole).substr(0, bytes), DocumentType::skipped);
    EXPECT_EQ(root.name, bytes < end ? "" : "GetMap") << bytes;
    EXPECT_EQ(root.may_come, bytes < end) << bytes;
  }
}

}  // namespace
}  // namespace balance
