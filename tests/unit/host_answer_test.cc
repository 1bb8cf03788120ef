// SPDX-License-Identifier: MIT
#include "balance/ground/host_answer.h"

#include <gtest/gtest.h>

#include <string>
#include <string_view>

#include "tests/unit/requests.h"

namespace balance {
namespace {

using namespace std::string_view_literals;

HostHead head(int status, std::string_view type, std::string_view encoding = "") {
  HostHead head;
  head.status = status;
  if (!type.empty()) head.headers.emplace_back("Content-Type", type);
  if (!encoding.empty()) head.headers.emplace_back("Content-Encoding", encoding);
  return head;
}

// As mapserv 8.0 writes it, version line and all.
std::string message(std::string_view text) {
  return "<HTML>\n<HEAD><TITLE>MapServer Message</TITLE></HEAD>\n<!-- MapServer version 8.0.0 OUTPUT=PNG OUTPUT=JPEG "
         "OUTPUT=KML SUPPORTS=PROJ SUPPORTS=AGG SUPPORTS=FREETYPE SUPPORTS=CAIRO SUPPORTS=SVG_SYMBOLS SUPPORTS=RSVG "
         "SUPPORTS=ICONV SUPPORTS=FRIBIDI SUPPORTS=WMS_SERVER SUPPORTS=WMS_CLIENT SUPPORTS=WFS_SERVER -->\n"
         "<BODY BGCOLOR=\"#FFFFFF\">\n" +
         std::string(text) + "\n</BODY></HTML>";
}
std::string service_exception(std::string_view attributes, std::string_view text) {
  return "<?xml version='1.0' encoding=\"UTF-8\" standalone=\"no\" ?>\n<!DOCTYPE ServiceExceptionReport SYSTEM "
         "\"http://schemas.opengis.net/wms/1.1.1/exception_1_1_1.dtd\">\n<ServiceExceptionReport version=\"1.1.1\">\n"
         "<ServiceException" +
         std::string(attributes) + ">\n" + std::string(text) + "\n</ServiceException>\n</ServiceExceptionReport>\n";
}
constexpr std::string_view kSeXml = "application/vnd.ogc.se_xml; charset=UTF-8";
const std::string kOws =
    "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<ows:ExceptionReport xmlns:ows=\"http://www.opengis.net/ows/1.1\">\n"
    "<ows:Exception exceptionCode=\"NoApplicableCode\" locator=\"mapserv\">";
const std::string kNoData = "msDrawMap(): Image handling error. Failed to draw layer named &#39;countries&#39;.";

Answered answered(Wanted wanted, const HostHead& head, std::string_view body) {
  const std::optional<Judgement> judgement = judge(wanted, head, body, Rest::none);
  EXPECT_TRUE(judgement) << "judge() wants more where there is no more";
  return judgement ? judgement->answered : Answered::fine;
}
Answered picture(std::string_view type, std::string_view body) {
  return answered(Wanted::picture, head(200, type), body);
}
Answered other(int status, std::string_view type, std::string_view body) {
  return answered(Wanted::anything, head(status, type), body);
}
Wanted wanted(std::string_view query) { return wanted_by(request_of(get(query))); }

TEST(Wanted, APictureOfMapRequests) {
  EXPECT_EQ(wanted("service=WMS&request=GetMap&format=image/png"), Wanted::picture);
  EXPECT_EQ(wanted("service=WMS&request=GetLegendGraphic"), Wanted::picture);
  EXPECT_EQ(wanted("mode=map"), Wanted::picture);
  EXPECT_EQ(wanted("mode=tile&tile=0+0+0"), Wanted::picture);
}

TEST(Wanted, AnythingWhereTheFormatIsNoPicture) {
  EXPECT_EQ(wanted("service=WMS&request=GetMap&format=application/openlayers"), Wanted::anything);
  EXPECT_EQ(wanted("service=WMS&request=GetMap&FORMAT=text%2Fhtml"), Wanted::anything);
  EXPECT_EQ(wanted("service=WMS&request=GetMap&format=application/vnd.google-earth.kml%2Bxml"), Wanted::anything);
  EXPECT_EQ(wanted("service=WFS&request=GetFeature"), Wanted::anything);
  EXPECT_EQ(wanted("mode=browse"), Wanted::anything);
  RawRequest raw = get("service=WMS&request=GetMap");
  raw.method = "POST";
  EXPECT_EQ(wanted_by(request_of(raw)), Wanted::anything);
}

TEST(Wanted, IsSeenThroughOtherClasses) {
  RawRequest raw = get("service=WMS&request=GetMap");
  raw.authorization = "Basic x";
  EXPECT_EQ(wanted_by(request_of(raw)), Wanted::picture);
  raw.method = "HEAD";
  EXPECT_EQ(wanted_by(request_of(raw)), Wanted::picture);
}

TEST(HostAnswer, AGoodPictureIsJudgedByItsFirstBytes) {
  EXPECT_EQ(judge(Wanted::picture, head(200, "image/png; mode=8bit"), "\x89PNG"sv, Rest::more_may_come)->answered,
            Answered::fine);
  EXPECT_EQ(picture("image/jpeg", "\xFF\xD8\xFF\xE0"sv), Answered::fine);
  EXPECT_EQ(picture("image/gif", "GIF89a"sv), Answered::fine);
  EXPECT_EQ(picture("image/tiff", "II*\0\x08"sv), Answered::fine);
  EXPECT_EQ(picture("image/tiff", "MM\0*"sv), Answered::fine);
  EXPECT_EQ(picture("image/webp", "RIFFxxxxWEBP"sv), Answered::fine);
  EXPECT_EQ(picture("image/svg+xml", "<svg/>"sv), Answered::fine);
  EXPECT_EQ(picture("application/x-img", "x"sv), Answered::fine);
}

TEST(HostAnswer, ThatCallsItselfAPictureAndIsNone) {
  EXPECT_EQ(picture("image/png", "<html>"sv), Answered::host_fault);
  EXPECT_EQ(picture("image/png", ""sv), Answered::host_fault);
  EXPECT_EQ(picture("image/png", "\x89P"sv), Answered::host_fault);
  EXPECT_FALSE(judge(Wanted::picture, head(200, "image/png"), "\x89P"sv, Rest::more_may_come));
  EXPECT_FALSE(judge(Wanted::picture, head(200, "image/png"), "", Rest::more_may_come));
}

TEST(HostAnswer, AnEmptyPictureIsKnownByItsLength) {
  HostHead empty = head(200, "image/png");
  empty.content_length = 0;
  EXPECT_EQ(judge(Wanted::picture, empty, "", Rest::more_may_come)->answered, Answered::host_fault);
}

TEST(HostAnswer, MapServerMessageInsteadOfAPictureIsTheHostsFault) {
  const std::optional<Judgement> judgement =
      judge(Wanted::picture, head(200, "text/html"),
            message("msLoadConfig(): Unable to access file. See mapserver.org/config_file.html for more information."),
            Rest::none);
  ASSERT_TRUE(judgement);
  EXPECT_EQ(judgement->answered, Answered::host_fault);
  EXPECT_EQ(judgement->relayed, Relayed::host_fault);
  EXPECT_EQ(judgement->why, "MapServer Message");
}

TEST(HostAnswer, MapServerMessageIsTheHostsFaultForAnyRequest) {
  EXPECT_EQ(other(200, "text/html", message(kNoData)), Answered::host_fault);
  EXPECT_EQ(other(200, "text/html; charset=utf-8", message("msLoadMap(): Unable to access file. (x.map)")),
            Answered::host_fault);
}

TEST(HostAnswer, MapServerMessageOfARequestWithoutSenseIsTheClients) {
  for (const char* text :
       {"msCGILoadMap(): Web application error. CGI variable &quot;map&quot; fails to validate.",
        "loadParams(): Web application error. No query information to decode. QUERY_STRING is set, but "
        "empty.",
        "msCGISetMode(): Web application error. Invalid mode.",
        "msCGILoadForm(): Web application error. Not enough arguments for mapext."}) {
    EXPECT_EQ(picture("text/html", message(text)), Answered::client_fault) << text;
    EXPECT_EQ(other(200, "text/html", message(text)), Answered::client_fault) << text;
  }
}

TEST(HostAnswer, AnotherPageInsteadOfAPictureIsTheHostsFault) {
  EXPECT_EQ(picture("text/html", "<html><head><title>Welcome to nginx</title>"), Answered::host_fault);
  EXPECT_EQ(picture("text/plain", "hello"), Answered::host_fault);
  EXPECT_EQ(picture("", "hello"), Answered::host_fault);
}

TEST(HostAnswer, APageThatWasAskedForIsFineAndSoonKnown) {
  const HostHead html = head(200, "text/html");
  EXPECT_EQ(judge(Wanted::anything, html, "<html><head><title>My maps</title>", Rest::more_may_come)->answered,
            Answered::fine);
  EXPECT_EQ(judge(Wanted::anything, html, std::string(512, 'x'), Rest::more_may_come)->answered, Answered::fine);
  EXPECT_FALSE(judge(Wanted::anything, html, "<html><head><title>My", Rest::more_may_come));
}

TEST(HostAnswer, AServiceExceptionOfTheClientsIsTheClients) {
  EXPECT_EQ(picture(kSeXml, service_exception(" code=\"LayerNotDefined\"", "x")), Answered::client_fault);
  EXPECT_EQ(other(200, "text/xml", service_exception(" code='InvalidParameterValue' locator='typename'", "x")),
            Answered::client_fault);
  EXPECT_EQ(
      picture(kSeXml, service_exception("", "msWMSLoadGetMapParams(): WMS server error. Invalid values for BBOX.")),
      Answered::client_fault);
}

TEST(HostAnswer, AServiceExceptionWithoutACodeIsTheHosts) {
  EXPECT_EQ(picture(kSeXml, service_exception("", kNoData)), Answered::host_fault);
  EXPECT_EQ(other(200, "text/xml; charset=UTF-8", service_exception("", kNoData)), Answered::host_fault);
  EXPECT_EQ(
      other(200, "text/xml", service_exception(" code=\"NoApplicableCode\" locator=\"mapserv\"", "msShapefileOpen()")),
      Answered::host_fault);
}

TEST(HostAnswer, OtherXmlIsFineAsSoonAsItsRootIsKnown) {
  const HostHead xml = head(200, "text/xml; subtype=gml/3.1.1");
  EXPECT_EQ(
      judge(Wanted::anything, xml, "<?xml version='1.0'?>\n<wfs:FeatureCollection ", Rest::more_may_come)->answered,
      Answered::fine);
  EXPECT_FALSE(judge(Wanted::anything, xml, "<?xml version='1.0'?>\n<wfs:Fea", Rest::more_may_come));
  EXPECT_EQ(judge(Wanted::anything, xml, "no xml at all", Rest::more_may_come)->answered, Answered::fine);
  EXPECT_EQ(
      judge(Wanted::anything, xml, "<!DOCTYPE WMT_MS_Capabilities SYSTEM \"x\"\n [\n <!ELEMENT A EMPTY>\n]><WMT_MS>",
            Rest::more_may_come)
          ->answered,
      Answered::fine);
}

TEST(HostAnswer, A4xxIsTheClientsAtOnce) {
  for (const int status : {400, 401, 403, 404, 410, 413}) {
    EXPECT_EQ(judge(Wanted::picture, head(status, "text/html"), "", Rest::more_may_come)->answered,
              Answered::client_fault)
        << status;
  }
}

TEST(HostAnswer, A500WithAnOwsExceptionOrJsonIsTheClients) {
  EXPECT_EQ(other(500, "text/xml; charset=UTF-8", kOws), Answered::client_fault);
  EXPECT_EQ(other(500, "application/json", "{\"code\":\"x\"}"), Answered::client_fault);
  EXPECT_EQ(other(500, "application/problem+json; charset=utf-8", "{}"), Answered::client_fault);
  EXPECT_EQ(other(200, "text/xml", kOws), Answered::client_fault);
}

TEST(HostAnswer, AnyOther500IsTheHosts) {
  EXPECT_EQ(other(500, "text/html", "<title>500 Internal Server Error</title>"), Answered::host_fault);
  EXPECT_EQ(other(500, "text/xml", "<html/>"), Answered::host_fault);
  EXPECT_EQ(other(500, "", ""), Answered::host_fault);
  EXPECT_EQ(answered(Wanted::anything, head(500, "text/xml", "gzip"), kOws), Answered::host_fault);
}

TEST(HostAnswer, GatewayErrorsAreNamed) {
  const auto relayed = [](int status) {
    return judge(Wanted::anything, head(status, "text/html"), "", Rest::more_may_come)->relayed;
  };
  EXPECT_EQ(relayed(502), Relayed::bad_gateway);
  EXPECT_EQ(relayed(503), Relayed::unavailable);
  EXPECT_EQ(relayed(504), Relayed::gateway_timeout);
  EXPECT_EQ(relayed(500), Relayed::host_fault);
  EXPECT_EQ(relayed(404), Relayed::fine);
}

TEST(HostAnswer, PartsRedirectsAndEncodedBodiesAreNotLookedInto) {
  for (const int status : {201, 204, 206, 301, 302, 304}) {
    EXPECT_EQ(judge(Wanted::picture, head(status, "text/html"), "", Rest::more_may_come)->answered, Answered::fine)
        << status;
  }
  EXPECT_EQ(judge(Wanted::anything, head(200, "text/html", "gzip"), "\x1F\x8B"sv, Rest::more_may_come)->answered,
            Answered::fine);
}

// Whatever has come, a judgement that is given early is the one that all bytes give.
void expect_early_judgements_hold(Wanted wanted, const HostHead& head, const std::string& body) {
  const Answered in_the_end = answered(wanted, head, body);
  for (std::size_t bytes = 0; bytes <= body.size(); ++bytes) {
    const auto early = judge(wanted, head, std::string_view(body).substr(0, bytes), Rest::more_may_come);
    if (!early) continue;
    EXPECT_EQ(early->answered, in_the_end) << bytes << " bytes of " << body;
  }
}

TEST(HostAnswer, AnEarlyJudgementIsTheFinalOne) {
  const std::string picture = "\x89PNG\r\n and more";
  expect_early_judgements_hold(Wanted::picture, head(200, "image/png"), picture);
  for (const Wanted wanted : {Wanted::picture, Wanted::anything}) {
    expect_early_judgements_hold(wanted, head(200, "text/html"), message(kNoData));
    expect_early_judgements_hold(wanted, head(200, "text/html"), message("CGI variable \"map\" fails to validate."));
    expect_early_judgements_hold(wanted, head(200, kSeXml), service_exception("", kNoData));
    expect_early_judgements_hold(wanted, head(200, kSeXml), service_exception(" code=\"LayerNotDefined\"", "x"));
    expect_early_judgements_hold(wanted, head(200, kSeXml),
                                 service_exception("", "msWMSLoadGetMapParams(): WMS server error."));
    // What stands behind the first title, body or exception changes nothing.
    expect_early_judgements_hold(wanted, head(200, "text/html"),
                                 "<html><head><title>A map</title></head>" + message(kNoData));
    expect_early_judgements_hold(wanted, head(200, "text/html"), message(kNoData) + "fails to validate");
    expect_early_judgements_hold(wanted, head(200, kSeXml), service_exception("", kNoData) + "msWMSDispatch()");
    expect_early_judgements_hold(wanted, head(500, "text/xml"), kOws);
    expect_early_judgements_hold(wanted, head(500, "text/xml"), "<html><body>");
  }
}

TEST(HostAnswer, IsKnownWithTheMostThatIsHeld) {
  for (const char* type : {"text/html", "text/xml", "image/png", "application/json", ""}) {
    for (const std::string begin : {"", "<!-- ", "<?xml ", "<a", "<HTML><TITLE>MapServer Message</TITLE>",
                                    "<ServiceExceptionReport><ServiceException"}) {
      for (const int status : {200, 500}) {
        const std::string body = begin + std::string(kMostHeldBytes, ' ');
        EXPECT_TRUE(judge(Wanted::picture, head(status, type), body, Rest::more_may_come)) << type << begin << status;
      }
    }
  }
}

}  // namespace
}  // namespace balance
