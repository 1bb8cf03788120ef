// SPDX-License-Identifier: MIT
// Cases from the field: what others met who redirect map requests. Each test is named for the
// symptom, with the public report or document it comes from ('owner-or-project#issue').
#include <algorithm>
#include <vector>

#include "balance/pool/decision.h"
#include "tests/unit/requests.h"

namespace balance {
namespace {

constexpr const char* kPinchot = "http://pinchot.example.org:8080/cgi-bin/mapserv";

std::string located(std::string_view query) { return location_of(get(query)); }

std::size_t lines_with(const std::string& reply, std::string_view name) {
  std::size_t count = 0;
  for (std::size_t at = reply.find(name); at != std::string::npos; at = reply.find(name, at + 1)) ++count;
  return count;
}

Reply reply_to(const RawRequest& raw, const Config& config) {
  const Request request = request_of(raw, config);
  const Plan plan = plan_for(request, config, Relaying::absent);
  if (!needs_host(plan)) return decide_without_host(request, config, plan).reply;
  return decide_by_weight(request, config, plan, Draw{1}).reply;
}

// ssl-config-generator#276, http-reverse-proxy#33, TerriaJS#384, hslayers-ng#311
TEST(FieldCases, AQueryThatIsDecodedAndEncodedAgainIsAnotherQuery) {
  for (const std::string query :
       {"LAYERS=a%2Bb+c%26d&x=%2520", "x=%2f%2F", "x=a+b%20c", "x=~%7E!*'()", "layers=a,b%2Cc",
        "BBOX=-1.5,2,3,4&CRS=EPSG:4326", "x=%", "x=%zz", "a&&b&=", "x=http://h/?y", "map.layer[a]=X+1", "?",
        "FILTER=%3CFilter%3E%0A%3C%2FFilter%3E", "t=2012-02-29T12:00:00Z/P1D", "x=%E4%F6&y=%C3%A4"}) {
    EXPECT_EQ(located(query), kPinchot + ("?" + query));
  }
}

// MapServer cgiutil.c splits at '&' alone; CGI.pm's self_url joined with ';' and broke every map.
TEST(FieldCases, ASemicolonIsData) {
  EXPECT_EQ(located("map=A;service=WMS&q=a;b"), std::string(kPinchot) + "?map=A;service=WMS&q=a;b");
  EXPECT_EQ(class_of("map=A;service=WMS;request=GetCapabilities"), Class::page);
}

// RFC 3986 2; MapServer#7517, MapServer#7544
TEST(FieldCases, RawBytesThatMayNotStandInAUrlAreEncodedAndNoneIsDropped) {
  EXPECT_EQ(located("x=\"<a b>\xC3\xA4\x80\xFF|"), std::string(kPinchot) + "?x=%22%3Ca%20b%3E%C3%A4%80%FF%7C");
  EXPECT_EQ(located("x=a#b\\c^d`e{f}"), std::string(kPinchot) + "?x=a%23b%5Cc%5Ed%60e%7Bf%7D");
  const std::string reply = redirected(get("x=\"><script>alert(1)</script>"));
  EXPECT_EQ(reply.find("<script>"), std::string::npos);
}

// yaws#464, fasthttp#2186, weserv#473
TEST(FieldCases, LineEndsInAQueryAddNoHeader) {
  for (const std::string_view query :
       {std::string_view("x=\r\nSet-Cookie: a=b"), std::string_view("x=\nLocation: http://evil.example.com"),
        std::string_view("x=\r\n\r\n<html>"), std::string_view("x=\0\r\nX: y", 10),
        std::string_view("x=%0d%0aSet-Cookie:x"), std::string_view("x=%0D%0ALocation:%20http://evil.example.com")}) {
    const std::string reply = redirected(get(query));
    const std::string head = reply.substr(0, reply.find("\r\n\r\n"));
    EXPECT_EQ(lines_with("\n" + head, "\nLocation:"), 1U) << head;
    EXPECT_EQ(head.find("\nSet-Cookie"), std::string::npos) << head;
    EXPECT_EQ(lines_with(head, "\n"), 6U) << head;  // Status, Location and five more
  }
  EXPECT_EQ(located("x=%0d%0aSet-Cookie:x"), std::string(kPinchot) + "?x=%0d%0aSet-Cookie:x");
}

TEST(FieldCases, LineEndsInAPathAddNoHeader) {
  RawRequest raw = get("");
  raw.request_uri = "/cgi-bin/mapserv/a\r\nSet-Cookie: x";
  raw.path_info = "/a\r\nSet-Cookie: x";
  EXPECT_EQ(location_of(raw), std::string(kPinchot) + "/a%0D%0ASet-Cookie:%20x");
  raw.request_uri = "";
  EXPECT_EQ(location_of(raw), std::string(kPinchot) + "/a%0D%0ASet-Cookie:%20x");
}

// The class of open redirects; MapServer RFC 141 on X-Forwarded-*.
TEST(FieldCases, WhatTheClientCallsUsIsNotWhereItIsSent) {
  RawRequest raw = get("mode=map");
  raw.server_name = "evil.example.com";
  for (const char* host : {"evil.example.com", "evil.example.com:80", "pinchot.example.org@evil.example.com",
                           "evil.example.com/x?", "evil.example.com#", "[::1]", ""}) {
    raw.host = host;
    EXPECT_EQ(location_of(raw), std::string(kPinchot) + "?mode=map") << host;
  }
  const char* const variables[] = {"REQUEST_METHOD=GET",
                                   "SCRIPT_NAME=/cgi-bin/mapserv",
                                   "QUERY_STRING=mode=map",
                                   "HTTP_X_FORWARDED_HOST=evil.example.com",
                                   "HTTP_FORWARDED=host=evil.example.com",
                                   "HTTP_X_FORWARDED_PREFIX=/evil",
                                   "HTTP_X_ORIGINAL_URL=/evil",
                                   nullptr};
  const std::string reply = redirected(raw_request(variables));
  EXPECT_NE(reply.find(kPinchot), std::string::npos);
  EXPECT_EQ(reply.find("evil"), std::string::npos);
}

TEST(FieldCases, PathInfoDoesNotMoveTheRedirectToAnotherServer) {
  RawRequest raw = get("");
  for (const std::string path :
       {"//evil.example.com", "/@evil.example.com", "/\\evil", "/:8081", "/%40evil", "/.evil"}) {
    const std::string uri = "/cgi-bin/mapserv" + path;
    raw.request_uri = uri;
    EXPECT_TRUE(location_of(raw).starts_with(std::string(kPinchot) + "/")) << path;
  }
  for (const char* uri : {"/cgi-bin/mapserv@evil.example.com/", "/cgi-bin/mapserv/../../evil"}) {
    raw.request_uri = uri;
    EXPECT_EQ(location_of(raw), kPinchot) << uri;
  }
}

// Apache cgi_common.h and fcgid_bridge.c redirect internally, as GET, on a path without Status; QGIS#54161
TEST(FieldCases, ARedirectIsAbsoluteAndSaysItsStatus) {
  for (const char* query : {"", "mode=map", "REQUEST=GetCapabilities"}) {
    EXPECT_TRUE(redirected(get(query)).starts_with("Status: 302 Found\r\nLocation: http://pinchot.example.org:8080/"))
        << query;
  }
}

// simplesamlphp#748, Sink#302, QGIS#5296: browsers keep 301 and 308 for ever, and so one host.
TEST(FieldCases, NoRedirectIsKeptByACache) {
  const Config config = config_of();
  for (const char* method : {"GET", "HEAD", "POST", "PUT"}) {
    RawRequest raw = get("mode=map");
    raw.method = method;
    const Reply reply = reply_to(raw, config);
    EXPECT_TRUE(reply.status == 302 || reply.status == 307) << method;
    EXPECT_EQ(header(reply, "Cache-Control"), "no-store") << method;
  }
}

// openlayers#2426, lizmap#1820: nginx answers 502 above about 4 kB of Location, Apache 500 above 8 kB.
TEST(FieldCases, ALongStyleIsNotLostInAWebServersHeaderBuffer) {
  const auto of = [](std::size_t bytes) {
    return class_of("SERVICE=WMS&REQUEST=GetMap&SLD_BODY=" + std::string(bytes, 'x'));
  };
  EXPECT_EQ(of(3000), Class::image);
  EXPECT_EQ(of(5000), Class::long_);
  EXPECT_EQ(of(9000), Class::long_);
  const Config config = config_of();
  const std::string query = "REQUEST=GetMap&SLD_BODY=" + std::string(9000, 'x');
  EXPECT_EQ(plan_for(request_of(get(query), config), config, Relaying::built_in).action, Action::relay);
}

// OWSLib#108; curl's CURLOPT_POSTREDIR
TEST(FieldCases, APostIsNeverAnsweredWith302) {
  RawRequest raw = get("SERVICE=WMS&REQUEST=GetMap");
  raw.method = "POST";
  for (const char* type : {"application/x-www-form-urlencoded", "text/xml", "application/json", ""}) {
    raw.content_type = type;
    for (const char* lines : {"", "mode = redirect\n", "answer.body = 307\n", "answer.image = redirect\n"}) {
      EXPECT_EQ(reply_to(raw, config_of(lines)).status, 307) << type << lines;
    }
  }
  const Config config = config_of();
  EXPECT_EQ(plan_for(request_of(raw, config), config, Relaying::built_in).action, Action::relay);
}

// QGIS#55561, mapcache#268, mapcache#40, MapServer#4354
TEST(FieldCases, APreflightIsAnsweredHereAndNotRedirected) {
  RawRequest raw = get("SERVICE=WFS&REQUEST=GetFeature");
  raw.method = "OPTIONS";
  raw.origin = "https://gis.example.org";
  raw.access_control_request_method = "POST";
  raw.access_control_request_headers = "content-type";
  for (const char* lines : {"", "mode = redirect\n", "mode = relay\n"}) {
    const Reply reply = reply_to(raw, config_of(lines));
    EXPECT_EQ(reply.status, 204) << lines;
    EXPECT_EQ(header(reply, "Location"), "(none)");
    EXPECT_EQ(header(reply, "Access-Control-Allow-Origin"), "*");
    EXPECT_EQ(header(reply, "Access-Control-Allow-Methods"), "GET, HEAD, POST, OPTIONS");
    EXPECT_EQ(header(reply, "Access-Control-Allow-Headers"), "content-type, Authorization, X-Requested-With");
    EXPECT_EQ(reply.body, "");
  }
}

// eclipse-sumo#3991
TEST(FieldCases, ARedirectOfAnotherOriginsRequestAllowsIt) {
  RawRequest raw = get("mode=map");
  raw.origin = "https://gis.example.org";
  const Config config = config_of();
  EXPECT_EQ(header(reply_to(raw, config), "Access-Control-Allow-Origin"), "*");
}

// mapwarper#110, mf-chsdi3#1494, tileserver-gl#249
TEST(FieldCases, AClientOnHttpsIsNotSentToHttp) {
  RawRequest by_https = get("mode=map");
  by_https.https = "on";
  RawRequest by_proxy = get("mode=map");
  by_proxy.remote_addr = "10.0.0.1";
  by_proxy.x_forwarded_proto = "https";
  const std::string trusting = "trusted-proxies = 10.0.0.1\n";
  EXPECT_EQ(reply_to(by_https, config_of()).status, 503);
  EXPECT_EQ(reply_to(by_proxy, config_of(trusting)).status, 503);
  EXPECT_EQ(reply_to(by_proxy, config_of()).status, 302);  // the proxy is not to be believed
  EXPECT_EQ(reply_to(get("mode=map"), config_of("public-url = https://maps.example.org\n")).status, 503);
  EXPECT_NE(reply_to(by_https, config_of()).body.find("allow-downgrade"), std::string::npos);
  EXPECT_EQ(reply_to(by_https, config_of("allow-downgrade = yes\n")).status, 302);
  EXPECT_EQ(reply_to(by_https, config_of("", "host = a https://a.example.org\n")).status, 302);
}

TEST(FieldCases, AClientOnHttpsGetsTheHostsThatHaveHttps) {
  const Config config =
      config_of("", "host = plain http://a.example.org weight=1000\nhost = safe https://b.example.org weight=0.1\n");
  RawRequest raw = get("mode=map");
  raw.https = "on";
  EXPECT_EQ(header(reply_to(raw, config), "X-Balance-Host"), "safe");
}

// civetweb#619, libhv#683; RFC 3986 3.2.2
TEST(FieldCases, AnIpv6HostStandsInBrackets) {
  const auto at = [](const std::string& url) { return location_of(get("x"), config_of("", "host = a " + url + "\n")); };
  EXPECT_EQ(at("http://[2001:db8::7]:8080"), "http://[2001:db8::7]:8080/cgi-bin/mapserv?x");
  EXPECT_EQ(at("http://[2001:db8::7]"), "http://[2001:db8::7]/cgi-bin/mapserv?x");
  EXPECT_EQ(at("https://[::1]:443"), "https://[::1]/cgi-bin/mapserv?x");
  for (const char* bad : {"http://2001:db8::7", "http://[fe80::1%eth0]", "http://[fe80::1%25eth0]:8080",
                          "http://[2001:db8::7", "http://[::g]"}) {
    EXPECT_NE(faults_of("host = a " + std::string(bad) + "\n"), "") << bad;
  }
}

// MapServer's bug 1075
TEST(FieldCases, ADefaultPortIsNotWritten) {
  const auto at = [](const std::string& url) { return location_of(get(""), config_of("", "host = a " + url + "\n")); };
  EXPECT_EQ(at("http://a.example.org:80"), "http://a.example.org/cgi-bin/mapserv");
  EXPECT_EQ(at("https://a.example.org:443"), "https://a.example.org/cgi-bin/mapserv");
  EXPECT_EQ(at("http://a.example.org:443"), "http://a.example.org:443/cgi-bin/mapserv");
  EXPECT_EQ(at("https://a.example.org:80"), "https://a.example.org:80/cgi-bin/mapserv");
  EXPECT_EQ(at("http://a.example.org:8080"), "http://a.example.org:8080/cgi-bin/mapserv");
}

// QGIS#62700; GDAL and curl (their 'unrestricted auth' options): clients drop credentials when the host changes.
TEST(FieldCases, CredentialsThatARedirectWouldLoseAreRelayedWhereThatIsPossible) {
  const Config config = config_of();
  RawRequest by_header = get("mode=map"), by_cookie = get("mode=map"), other_cookie = get("mode=map");
  by_header.authorization = "Bearer x";
  by_cookie.cookie = "theme=dark; PHPSESSID=17";
  other_cookie.cookie = "theme=dark; _ga=1";
  const auto action = [&config](const RawRequest& raw) {
    return plan_for(request_of(raw, config), config, Relaying::built_in).action;
  };
  EXPECT_EQ(action(by_header), Action::relay);
  EXPECT_EQ(action(by_cookie), Action::relay);
  EXPECT_EQ(action(other_cookie), Action::redirect_302);
}

// MapServer's templates: [img], [id], savequery
TEST(FieldCases, AFollowUpAsksForTheHostOfThePage) {
  RawRequest raw = get("mode=query&queryfile=/tmp/17.qy");
  raw.remote_addr = "192.0.2.1";
  const auto always_two = [](std::uint64_t) { return std::optional<std::size_t>{2}; };
  EXPECT_EQ(preferred_host(request_of(raw), always_two), 2U);
  raw.query_string = "mode=map&id=1796016566374";
  EXPECT_EQ(preferred_host(request_of(raw), always_two), 2U);
  raw.query_string = "SERVICE=WMS&REQUEST=GetMap&id=1796016566374";
  EXPECT_EQ(preferred_host(request_of(raw), always_two), std::nullopt);
}

TEST(FieldCases, AFaultyHostListIsRefusedWithItsLines) {
  EXPECT_EQ(
      faults_of("public-url = http://maps.example.org\n"
                "host = a http://a.example.org\n"
                "host = A http://b.example.org\n"
                "host = c http://c.example.org:0\n"
                "host = d gopher://d.example.org\n"
                "host = e http://maps.example.org\n"
                "host = f http://a.example.org:80\n"),
      "balance.conf:3: host A: there is a host a already; wanted another name\n"
      "balance.conf:4: host c: 'http://c.example.org:0': port is '0'; wanted 1 to 65535\n"
      "balance.conf:5: host d: 'gopher://d.example.org': scheme is 'gopher'; wanted http or https\n"
      "balance.conf:6: host e: URL and script are those of public-url, which is a loop; wanted another address, or "
      "another script where mapserv itself is\n"
      "balance.conf:7: host f: URL and script are those of host a; wanted one line a host");
}

TEST(FieldCases, AHostThatIsTheBalancerIsLeftOutAndOnlyLoopsGive508) {
  RawRequest raw = get("mode=map");
  raw.host = "a.example.org";
  const Config two =
      config_of("", "host = a http://a.example.org weight=1000\nhost = b http://b.example.org weight=0.1\n");
  EXPECT_EQ(header(reply_to(raw, two), "X-Balance-Host"), "b");
  const Config one = config_of("", "host = a http://a.example.org\n");
  EXPECT_EQ(reply_to(raw, one).status, 508);
}

}  // namespace
}  // namespace balance
