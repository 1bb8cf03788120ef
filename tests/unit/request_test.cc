// SPDX-License-Identifier: MIT
#include "balance/ground/request.h"

#include "tests/unit/requests.h"

namespace balance {
namespace {

// REQUEST_URI, SCRIPT_NAME and PATH_INFO as the web server gives them, to the path info that goes on to the host.
std::string path_info(std::string_view uri, std::string_view script, std::string_view info) {
  RawRequest raw = get("");
  raw.request_uri = uri;
  raw.script_name = script;
  raw.path_info = info;
  return request_of(raw).path_info;
}

TEST(RawRequest, TakesWhatItKnowsOfTheEnvironment) {
  const char* const variables[] = {"PATH=/bin",
                                   "REQUEST_METHOD=GET",
                                   "QUERY_STRING=map=A&x=y=z",
                                   "REQUEST_URI=/cgi-bin/mapserv?map=A&x=y=z",
                                   "SCRIPT_NAME=/cgi-bin/mapserv",
                                   "HTTPS=on",
                                   "REMOTE_ADDR=192.0.2.1",
                                   "HTTP_HOST=maps.example.org",
                                   "HTTP_X_FORWARDED_HOST=evil.example.com",
                                   "HTTP_COOKIE=a=b; c=d",
                                   "HTTP_ACCESS_CONTROL_REQUEST_HEADERS=x-a",
                                   "HTTP_SEC_FETCH_MODE=cors",
                                   "HTTP_REFERER=http://maps.example.org/",
                                   "HTTP_ACCEPT=*/*",
                                   "REQUEST_METHOD=POST",
                                   "nonsense",
                                   "=x",
                                   nullptr};
  const RawRequest raw = raw_request(variables);
  EXPECT_EQ(raw.method, "GET");  // the first, as getenv() has it
  EXPECT_EQ(raw.query_string, "map=A&x=y=z");
  EXPECT_EQ(raw.request_uri, "/cgi-bin/mapserv?map=A&x=y=z");
  EXPECT_EQ(raw.script_name, "/cgi-bin/mapserv");
  EXPECT_EQ(raw.https, "on");
  EXPECT_EQ(raw.remote_addr, "192.0.2.1");
  EXPECT_EQ(raw.host, "maps.example.org");
  EXPECT_EQ(raw.cookie, "a=b; c=d");
  EXPECT_EQ(raw.access_control_request_headers, "x-a");
  EXPECT_EQ(raw.sec_fetch_mode, "cors");
  EXPECT_EQ(raw.referer, "http://maps.example.org/");
  EXPECT_EQ(raw.accept, "*/*");
  EXPECT_EQ(raw.authorization, "");
}

TEST(RawRequest, OfAnEmptyEnvironmentIsEmpty) {
  const char* const none[] = {nullptr};
  EXPECT_EQ(raw_request(none).method, "");
}

TEST(Request, KnowsItsMethod) {
  RawRequest raw = get("");
  const auto method = [&raw](std::string_view name) {
    raw.method = name;
    return request_of(raw).method;
  };
  EXPECT_EQ(method("GET"), Method::get);
  EXPECT_EQ(method("HEAD"), Method::head);
  EXPECT_EQ(method("POST"), Method::post);
  EXPECT_EQ(method("OPTIONS"), Method::options);
  EXPECT_EQ(method("PUT"), Method::other);
  EXPECT_EQ(method("get"), Method::other);
}

TEST(Request, RefusesAMethodThatIsNoToken) {
  for (const std::string_view bad : {"", " ", "GET ", "G ET", "GET\r\nX: y", "<GET>", "G\xC3\x89T"}) {
    RawRequest raw = get("");
    raw.method = bad;
    const base::Result<Request> request = parse_request(raw, config_of());
    ASSERT_FALSE(request) << bad;
    EXPECT_EQ(request.error().fault, base::Fault::input);
  }
  RawRequest raw = get("");
  raw.method = "GE\nT";
  EXPECT_EQ(parse_request(raw, config_of()).error().what,
            "the method is 'GE\\x0AT'; wanted GET, HEAD, POST or OPTIONS");
}

TEST(Request, PathInfoKeepsTheBytesOfTheUri) {
  EXPECT_EQ(path_info("/cgi-bin/mapserv/a%2Fb/c%20d?x", "/cgi-bin/mapserv", "/a/b/c d"), "/a%2Fb/c%20d");
  EXPECT_EQ(path_info("/cgi-bin/mapserv/a%2520b", "/cgi-bin/mapserv", "/a%20b"), "/a%2520b");
  EXPECT_EQ(path_info("/cgi-bin/mapserv/", "/cgi-bin/mapserv", "/"), "/");
  EXPECT_EQ(path_info("/cgi-bin/mapserv?map=/a/b", "/cgi-bin/mapserv", ""), "");
  EXPECT_EQ(path_info("/cgi-bin/mapserv", "/cgi-bin/mapserv", ""), "");
}

TEST(Request, PathInfoIsFoundBehindAnEncodedScript) {
  EXPECT_EQ(path_info("/cgi%2Dbin/map%73erv/a%20b", "/cgi-bin/mapserv", "/a b"), "/a%20b");
  EXPECT_EQ(path_info("//cgi-bin///mapserv//a", "/cgi-bin/mapserv", "/a"), "//a");
  EXPECT_EQ(path_info("/my%20maps/mapserv/a", "/my maps/mapserv", "/a"), "/a");
}

TEST(Request, PathInfoIsFoundInAnAbsoluteUri) {
  EXPECT_EQ(path_info("http://maps.example.org/cgi-bin/mapserv/a%20b?q", "/cgi-bin/mapserv", "/a b"), "/a%20b");
  EXPECT_EQ(path_info("http://maps.example.org?q", "/cgi-bin/mapserv", "/a b"), "/a%20b");
}

TEST(Request, PathInfoIsFoundThoughTheWebServerDroppedIt) {
  EXPECT_EQ(path_info("/cgi-bin/mapserv/world/ogcapi?f=json", "/cgi-bin/mapserv", ""), "/world/ogcapi");
}

TEST(Request, PathInfoIsEncodedAnewWhereTheUriDoesNotFit) {
  EXPECT_EQ(path_info("/wms/berlin?x", "/cgi-bin/mapserv", "/100% a?b#c"), "/100%25%20a%3Fb%23c");
  EXPECT_EQ(path_info("", "/cgi-bin/mapserv", "/a b"), "/a%20b");
  EXPECT_EQ(path_info("/cgi-bin/mapserv.old", "/cgi-bin/mapserv", ""), "");
  EXPECT_EQ(path_info("/cgi-bin/map", "/cgi-bin/mapserv", ""), "");
  EXPECT_EQ(path_info("*", "/cgi-bin/mapserv", ""), "");
  EXPECT_EQ(path_info("", "/cgi-bin/mapserv", "no-slash"), "/no-slash");
}

TEST(Request, AnUnnamedScriptHasNoPathInfoUnlessTheServerSaysSo) {
  EXPECT_EQ(path_info("/cgi-bin/mapserv?x", "", ""), "");
  EXPECT_EQ(path_info("/world/ogcapi?x", "", "/world/ogcapi"), "/world/ogcapi");
  EXPECT_EQ(path_info("/?x", "", "/"), "");
}

TEST(Request, PathInfoCannotLeaveTheHost) {
  EXPECT_EQ(path_info("/cgi-bin/mapserv//evil.example.com", "/cgi-bin/mapserv", "//evil.example.com"),
            "//evil.example.com");
  EXPECT_EQ(path_info("/cgi-bin/mapserv@evil.example.com", "/cgi-bin/mapserv", ""), "");
  EXPECT_EQ(path_info("/cgi-bin/mapserv/%0d%0aX:y", "/cgi-bin/mapserv", "/\r\nX:y"), "/%0d%0aX:y");
  EXPECT_EQ(path_info("/cgi-bin/mapserv/\r\nX: y", "/cgi-bin/mapserv", "/"), "/%0D%0AX:%20y");
  EXPECT_EQ(path_info("", "/cgi-bin/mapserv", "@evil.example.com"), "/@evil.example.com");
}

// At the host another script may stand in front of it, and '..' would lead somewhere else than at the web server.
TEST(Request, PathInfoIsTheWebServersWhereTheUriClimbs) {
  EXPECT_EQ(path_info("/cgi-bin/mapserv/../../cgi-bin/mapserv/y", "/cgi-bin/mapserv", "/y"), "/y");
  EXPECT_EQ(path_info("/cgi-bin/mapserv/%2e%2E/mapserv/a%20b", "/cgi-bin/mapserv", "/a b"), "/a%20b");
  EXPECT_EQ(path_info("/cgi-bin/mapserv/x/..", "/cgi-bin/mapserv", "/"), "/");
  EXPECT_EQ(path_info("/cgi-bin/mapserv/../mapserv", "/cgi-bin/mapserv", ""), "");
  EXPECT_EQ(path_info("/cgi-bin/mapserv/a..b/...", "/cgi-bin/mapserv", "/a..b/..."), "/a..b/...");
  EXPECT_EQ(path_info("/cgi-bin/mapserv/%252e%252e/x", "/cgi-bin/mapserv", "/%2e%2e/x"), "/%252e%252e/x");
}

TEST(Request, PathInfoThatClimbsIsRefused) {
  for (const std::string_view info : {"/..", "/../../server-status", "..", "/a/../../x", "/\\..\\x", "/a/..\\x"}) {
    RawRequest raw = get("");
    raw.script_name = "/cgi-bin/mapserv";
    raw.path_info = info;
    for (const std::string& uri : {std::string(), "/cgi-bin/mapserv" + encoded_path(info)}) {
      raw.request_uri = uri;
      EXPECT_FALSE(parse_request(raw, config_of())) << info << " " << uri;
    }
  }
}

TEST(Request, EveryTruncationOfTheUriGivesASafePathInfo) {
  const std::string uri = "http://maps.example.org/cgi-bin/map%73erv/a%2Fb?x=1#y";
  for (std::size_t length = 0; length <= uri.size(); ++length) {
    const std::string info = path_info(uri.substr(0, length), "/cgi-bin/mapserv", "");
    EXPECT_TRUE(info.empty() || info.front() == '/') << length;
    EXPECT_EQ(safe_in_header(info), info) << length;
  }
}

TEST(Request, HttpsIsKnownByTheWebServersWord) {
  RawRequest raw = get("");
  for (const std::string_view yes : {"on", "ON", "1"}) {
    raw.https = yes;
    EXPECT_TRUE(request_of(raw).client_on_https) << yes;
  }
  for (const std::string_view no : {"", "off", "no", "0"}) {
    raw.https = no;
    EXPECT_FALSE(request_of(raw).client_on_https) << no;
  }
}

TEST(Request, ForwardedProtoIsBelievedFromTrustedProxiesAlone) {
  const Config config = config_of("trusted-proxies = 10.0.0.0/8 ::1\n");
  RawRequest raw = get("");
  raw.x_forwarded_proto = "https";
  for (const std::string_view trusted : {"10.1.2.3", "::1", "::ffff:10.1.2.3"}) {
    raw.remote_addr = trusted;
    EXPECT_TRUE(request_of(raw, config).client_on_https) << trusted;
  }
  for (const std::string_view other : {"192.0.2.1", "11.0.0.1", "", "unix:", "10.1.2.3.evil"}) {
    raw.remote_addr = other;
    EXPECT_FALSE(request_of(raw, config).client_on_https) << other;
  }
  raw.remote_addr = "10.1.2.3";
  EXPECT_FALSE(request_of(raw).client_on_https);  // none is trusted by default
}

TEST(Request, OneHttpsInAListOfProxiesIsEnough) {
  const Config config = config_of("trusted-proxies = 10.0.0.1\n");
  RawRequest raw = get("");
  raw.remote_addr = "10.0.0.1";
  for (const std::string_view list : {"https,http", "http, HTTPS", " https "}) {
    raw.x_forwarded_proto = list;
    EXPECT_TRUE(request_of(raw, config).client_on_https) << list;
  }
  for (const std::string_view list : {"http", "", "httpsx", "http,,", "https:"}) {
    raw.x_forwarded_proto = list;
    EXPECT_FALSE(request_of(raw, config).client_on_https) << list;
  }
}

TEST(Request, AnHttpsPublicUrlPutsEveryClientOnHttps) {
  EXPECT_TRUE(request_of(get(""), config_of("public-url = https://maps.example.org\n")).client_on_https);
  EXPECT_FALSE(request_of(get(""), config_of("public-url = http://maps.example.org\n")).client_on_https);
}

TEST(Request, TheClientIsThePeerOrWhomTrustedProxiesName) {
  const Config config = config_of("trusted-proxies = 10.0.0.0/8\n");
  const auto client = [&config](std::string_view peer, std::string_view forwarded) {
    RawRequest raw = get("");
    raw.remote_addr = peer;
    raw.x_forwarded_for = forwarded;
    const std::optional<base::Address> address = request_of(raw, config).client;
    return address ? base::to_text(*address) : "(none)";
  };
  EXPECT_EQ(client("192.0.2.1", ""), "192.0.2.1");
  EXPECT_EQ(client("192.0.2.1", "198.51.100.7"), "192.0.2.1");  // not to be believed
  EXPECT_EQ(client("10.0.0.1", "198.51.100.7"), "198.51.100.7");
  EXPECT_EQ(client("10.0.0.1", "203.0.113.9, 198.51.100.7, 10.0.0.2"), "198.51.100.7");
  EXPECT_EQ(client("10.0.0.1", "198.51.100.7:4711"), "198.51.100.7");
  EXPECT_EQ(client("10.0.0.1", "[2001:db8::7]:4711"), "2001:db8::7");
  EXPECT_EQ(client("10.0.0.1", "2001:db8::7"), "2001:db8::7");
  EXPECT_EQ(client("10.0.0.1", "198.51.100.7, unknown"), "10.0.0.1");
  EXPECT_EQ(client("10.0.0.1", "10.0.0.3"), "10.0.0.3");
  EXPECT_EQ(client("", "198.51.100.7"), "(none)");
}

TEST(Request, KnowsHowTheClientNamedIt) {
  RawRequest raw = get("");
  raw.host = "Maps.Example.org:8080";
  EXPECT_EQ(to_text(request_of(raw).self), "http://maps.example.org:8080/cgi-bin/mapserv");
  raw.https = "on";
  EXPECT_EQ(to_text(request_of(raw).self), "https://maps.example.org:8080/cgi-bin/mapserv");
  raw.host = "[2001:DB8::7]";
  EXPECT_EQ(to_text(request_of(raw).self), "https://[2001:db8::7]/cgi-bin/mapserv");
}

TEST(Request, WithoutAUsableHostHeaderGoesByTheServersName) {
  RawRequest raw = get("");
  raw.server_name = "maps.example.org";
  raw.server_port = "8080";
  for (const std::string_view host : {"", "a b", "evil\r\nX: y", "[fe80::1%eth0]", "x:99999", "user@host"}) {
    raw.host = host;
    EXPECT_EQ(to_text(request_of(raw).self), "http://maps.example.org:8080/cgi-bin/mapserv") << host;
  }
  raw.server_name = "::1";
  EXPECT_EQ(to_text(request_of(raw).self), "http://[::1]:8080/cgi-bin/mapserv");
  raw.server_name = "nonsense here";
  EXPECT_EQ(request_of(raw).self.host, "");
}

TEST(Request, KeepsAskedHeadersThatAreAList) {
  RawRequest raw = get("");
  const auto asked = [&raw](std::string_view text) {
    raw.access_control_request_headers = text;
    return request_of(raw).asked_headers;
  };
  EXPECT_EQ(asked("content-type,x-requested-with"), "content-type, x-requested-with");
  EXPECT_EQ(asked(" x-a , x-b "), "x-a, x-b");
  for (const std::string_view bad : {"", "a b", "a,,b", "a,", "x\r\nSet-Cookie: y", "a;b", "\xC3\xA4", "a:b"})
    EXPECT_EQ(asked(bad), "") << bad;
  const std::string endless(5000, 'a');
  EXPECT_EQ(asked(endless), "");
}

}  // namespace
}  // namespace balance
