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

constexpr std::string_view kHostile = "a<b> & \"c\" 'd' ]]> --> {{version}} \\ \xC3\xA4 \xFF \x01 \xEF\xBF\xBF\n<?x?>";

std::string unavailable_as(Format format, std::string_view reason = kHostile) {
  return document(Page::unavailable, format,
                  {{"reason", reason}, {"seconds", "5"}, {"status", "503"}, {"title", "Service Unavailable"}})
      .body;
}

constexpr char kHostileAsXml[] =
    "No map host is available right now. Please try again in 5 seconds. For the administrator: a&lt;b&gt; &amp; "
    "&quot;c&quot; &#39;d&#39; ]]&gt; --&gt; {{version}} \\ \xC3\xA4 ? ? ? &lt;?x?&gt;";
constexpr char kHostileAsJson[] =
    "No map host is available right now. Please try again in 5 seconds. For the administrator: a<b> & "
    "\\\"c\\\" 'd' ]]> --> {{version}} \\\\ \xC3\xA4 ? ? ? <?x?>";

TEST(Documents, OfWms11AreServiceExceptions) {
  EXPECT_EQ(unavailable_as(Format::wms_1_1),
            "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n"
            "<!DOCTYPE ServiceExceptionReport SYSTEM \"http://schemas.opengis.net/wms/1.1.1/exception_1_1_1.dtd\">\n"
            "<ServiceExceptionReport version=\"1.1.1\">\n"
            "  <ServiceException>" +
                std::string(kHostileAsXml) +
                "</ServiceException>\n"
                "</ServiceExceptionReport>\n");
}

TEST(Documents, OfWms13AreServiceExceptionsWithANamespace) {
  EXPECT_EQ(unavailable_as(Format::wms_1_3),
            "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n"
            "<ServiceExceptionReport version=\"1.3.0\" xmlns=\"http://www.opengis.net/ogc\" "
            "xmlns:xsi=\"http://www.w3.org/2001/XMLSchema-instance\" "
            "xsi:schemaLocation=\"http://www.opengis.net/ogc "
            "http://schemas.opengis.net/wms/1.3.0/exceptions_1_3_0.xsd\">\n"
            "  <ServiceException>" +
                std::string(kHostileAsXml) +
                "</ServiceException>\n"
                "</ServiceExceptionReport>\n");
}

TEST(Documents, OfWfs20AreOwsExceptions) {
  EXPECT_EQ(unavailable_as(Format::wfs_2_0),
            "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n"
            "<ows:ExceptionReport version=\"2.0.0\" xmlns:ows=\"http://www.opengis.net/ows/1.1\" "
            "xmlns:xsi=\"http://www.w3.org/2001/XMLSchema-instance\" "
            "xsi:schemaLocation=\"http://www.opengis.net/ows/1.1 "
            "http://schemas.opengis.net/ows/1.1.0/owsExceptionReport.xsd\">\n"
            "  <ows:Exception exceptionCode=\"NoApplicableCode\">\n"
            "    <ows:ExceptionText>" +
                std::string(kHostileAsXml) +
                "</ows:ExceptionText>\n"
                "  </ows:Exception>\n"
                "</ows:ExceptionReport>\n");
}

TEST(Documents, OfOtherVersionsNameTheirs) {
  EXPECT_TRUE(has(unavailable_as(Format::wfs_1_0), "<ServiceExceptionReport version=\"1.2.0\" xmlns="));
  EXPECT_TRUE(has(unavailable_as(Format::wfs_1_1), " version=\"1.1.0\" xmlns:ows=\"http://www.opengis.net/ows\""));
  EXPECT_TRUE(has(unavailable_as(Format::wcs_1_0), "/wcs/1.0.0/OGC-exception.xsd"));
  EXPECT_TRUE(has(unavailable_as(Format::wcs_1_1), " version=\"1.1.1\" xmlns:ows=\"http://www.opengis.net/ows/1.1\""));
  EXPECT_TRUE(has(unavailable_as(Format::wcs_2_0), " version=\"2.0.1\" xmlns:ows=\"http://www.opengis.net/ows/2.0\""));
  EXPECT_TRUE(has(unavailable_as(Format::sos_1_0), " version=\"1.0.0\" xmlns:ows=\"http://www.opengis.net/ows/1.1\""));
}

TEST(Documents, OfJsonAreStringsWithoutBreaks) {
  EXPECT_EQ(unavailable_as(Format::json),
            "{\"exceptions\": [{\"code\": \"NoApplicableCode\", \"locator\": \"noLocator\", "
            "\"text\": \"" +
                std::string(kHostileAsJson) + "\"}]}\n");
  EXPECT_EQ(unavailable_as(Format::problem),
            "{\"type\": \"about:blank\", \"status\": 503, \"title\": \"Service Unavailable\", "
            "\"detail\": \"" +
                std::string(kHostileAsJson) + "\", \"code\": \"NoApplicableCode\", \"description\": \"" +
                std::string(kHostileAsJson) + "\"}\n");
}

TEST(Documents, HaveTheTypeThatMapservGives) {
  const auto type = [](Format format) {
    return document(Page::internal_error, format, {{"status", "500"}, {"title", "x"}}).type;
  };
  EXPECT_EQ(type(Format::html), "text/html; charset=utf-8");
  EXPECT_EQ(type(Format::wms_1_1), "application/vnd.ogc.se_xml; charset=utf-8");
  EXPECT_EQ(type(Format::wms_1_3), "text/xml; charset=utf-8");
  EXPECT_EQ(type(Format::wfs_1_0), "text/xml; charset=utf-8");
  EXPECT_EQ(type(Format::wcs_1_0), "application/vnd.ogc.se_xml; charset=utf-8");
  EXPECT_EQ(type(Format::wcs_2_0), "text/xml; charset=utf-8");
  EXPECT_EQ(type(Format::json), "application/json");
  EXPECT_EQ(type(Format::problem), "application/problem+json");
}

TEST(Documents, SayWhatThePageSays) {
  const auto text = [](Page which) {
    return document(which, Format::wms_1_1, {{"reason", "R"}, {"seconds", "5"}}).body;
  };
  EXPECT_TRUE(has(text(Page::unavailable),
                  ">No map host is available right now. Please try again in 5 seconds. For the "
                  "administrator: R</ServiceException>"));
  EXPECT_TRUE(
      has(text(Page::loop_detected), "send requests to itself. For the administrator: R &#39;balancectl check&#39;"));
  EXPECT_TRUE(has(text(Page::bad_request), ">The request cannot be understood: R</ServiceException>"));
  EXPECT_TRUE(has(text(Page::internal_error), "the web server&#39;s error log says what happened.</ServiceException>"));
}

TEST(Documents, AreCutWhereAReasonIsEndless) {
  const std::string body = unavailable_as(Format::wfs_2_0, std::string(100000, '&'));
  EXPECT_LT(body.size(), 21000U);
  EXPECT_TRUE(body.ends_with("</ows:ExceptionReport>\n"));
}

TEST(JsonEscaped, LeavesNoControlAndNoQuoteOpen) {
  EXPECT_EQ(json_escaped("a\"\\\n\x1F/\x7F\xC3\xA4"), "a\\\"\\\\\\u000a\\u001f/\x7F\xC3\xA4");
  EXPECT_EQ(json_escaped(""), "");
}

TEST(HtmlEscaped, LeavesPlainTextAlone) {
  EXPECT_EQ(html_escaped("mode = relay; \xC3\xA4"), "mode = relay; \xC3\xA4");
  EXPECT_EQ(html_escaped(""), "");
}

}  // namespace
}  // namespace balance
