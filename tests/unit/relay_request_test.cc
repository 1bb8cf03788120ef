// SPDX-License-Identifier: MIT
#include "balance/ground/relay_request.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "tests/unit/requests.h"

namespace balance {
namespace {

// What the web server hands over, as it does it.
class Asked {
 public:
  explicit Asked(std::vector<std::string> more = {}, const std::string& config = "") : config_(config_of(config)) {
    add("REQUEST_METHOD=GET");
    add("SCRIPT_NAME=/cgi-bin/mapserv");
    for (std::string& one : more) add(std::move(one));
  }
  RelayRequest sent() {
    std::vector<const char*> pointers;
    for (const std::string& variable : variables_) pointers.push_back(variable.c_str());
    pointers.push_back(nullptr);
    const RawRequest raw = raw_request(pointers.data());
    return relay_request(raw, request_of(raw, config_), config_.hosts.front(), config_);
  }
  std::string header(std::string_view name) {
    std::string found = "(none)";
    for (const auto& [key, value] : sent().headers) {
      if (key != name) continue;
      EXPECT_EQ(found, "(none)") << "two headers " << name;
      found = value;
    }
    return found;
  }
  // The later of two settings counts here, for short tests.
  void add(std::string variable) { variables_.insert(variables_.begin(), std::move(variable)); }
  Config config_;

 private:
  std::vector<std::string> variables_;
};

std::string forwarded(std::vector<std::string> variables, const std::string& config = "") {
  Asked asked(std::move(variables), config);
  return asked.header("X-Forwarded-Proto") + " " + asked.header("X-Forwarded-Host") + " " +
         asked.header("X-Forwarded-Port");
}

TEST(RelayRequest, UrlIsTheHostsScriptWithPathInfoAndQueryAsTheyCame) {
  Asked asked({"REQUEST_URI=/cgi-bin/mapserv/WORLD/a%2Fb?LAYERS=a%2Bb+c%26d&x=%2520;y", "PATH_INFO=/WORLD/a/b",
               "QUERY_STRING=LAYERS=a%2Bb+c%26d&x=%2520;y"});
  EXPECT_EQ(asked.sent().url,
            "http://pinchot.example.org:8080/cgi-bin/mapserv/WORLD/a%2Fb?LAYERS=a%2Bb+c%26d&x=%2520;y");
  EXPECT_EQ(asked.header("Host"), "pinchot.example.org:8080");
}

TEST(RelayRequest, GoesToTheInside) {
  Asked asked({"QUERY_STRING=mode=map"});
  asked.config_ = config_of("", "host = a https://a.example.org inside=https://[2001:db8::7]:8443 script=/ms\n");
  EXPECT_EQ(asked.sent().url, "https://[2001:db8::7]:8443/ms?mode=map");
  EXPECT_EQ(asked.header("Host"), "[2001:db8::7]:8443");
}

TEST(RelayRequest, OfAnArtifactHasThePathThatWasAskedFor) {
  Asked asked({"SCRIPT_NAME=/tmp/ms_1.png", "REQUEST_URI=/tmp/ms_1.png"}, "artifact-prefixes = /tmp\n");
  EXPECT_EQ(asked.sent().url, "http://pinchot.example.org:8080/tmp/ms_1.png");
}

TEST(RelayRequest, HeadIsSentAsGetAndItsBodyDropped) {
  Asked asked({"REQUEST_METHOD=HEAD"});
  EXPECT_EQ(asked.sent().method, "GET");
  EXPECT_TRUE(asked.sent().drop_body);
  EXPECT_FALSE(asked.sent().has_body);
}

TEST(RelayRequest, PostKeepsItsContentTypeByteForByte) {
  Asked asked({"REQUEST_METHOD=POST", "CONTENT_TYPE=text/xml;  Charset=\"UTF-8\" ", "HTTP_SOAPACTION=\"x\""});
  EXPECT_EQ(asked.sent().method, "POST");
  EXPECT_TRUE(asked.sent().has_body);
  EXPECT_EQ(asked.header("Content-Type"), "text/xml;  Charset=\"UTF-8\" ");
  EXPECT_EQ(asked.header("Soapaction"), "\"x\"");
}

TEST(RelayRequest, WhatTheClientSaysGoesThrough) {
  Asked asked({"HTTP_ACCEPT=*/*", "HTTP_USER_AGENT=QGIS/3", "HTTP_AUTHORIZATION=Basic eDp5", "HTTP_RANGE=bytes=0-9",
               "HTTP_IF_MODIFIED_SINCE=x", "HTTP_ACCEPT_LANGUAGE=de", "HTTP_COOKIE=a=1;  b=2", "HTTP_ORIGIN=null",
               "HTTP_REFERER=http://a/"});
  EXPECT_EQ(asked.header("Accept"), "*/*");
  EXPECT_EQ(asked.header("User-Agent"), "QGIS/3");
  EXPECT_EQ(asked.header("Authorization"), "Basic eDp5");
  EXPECT_EQ(asked.header("Range"), "bytes=0-9");
  EXPECT_EQ(asked.header("If-Modified-Since"), "x");
  EXPECT_EQ(asked.header("Accept-Language"), "de");
  EXPECT_EQ(asked.header("Cookie"), "a=1;  b=2");
  EXPECT_EQ(asked.header("Origin"), "null");
  EXPECT_EQ(asked.header("Referer"), "http://a/");
}

TEST(RelayRequest, WhatIsBetweenNeighboursDoesNot) {
  Asked asked({"HTTP_CONNECTION=close, X-Secret , keep-alive", "HTTP_X_SECRET=1", "HTTP_KEEP_ALIVE=5",
               "HTTP_TE=trailers", "HTTP_TRAILER=x", "HTTP_TRANSFER_ENCODING=chunked", "HTTP_UPGRADE=h2c",
               "HTTP_HTTP2_SETTINGS=x", "HTTP_PROXY_AUTHORIZATION=x", "HTTP_PROXY_CONNECTION=x",
               "HTTP_EXPECT=100-continue", "HTTP_CONTENT_LENGTH=5", "HTTP_CONTENT_TYPE=x", "HTTP_X_KEPT=1"});
  for (const auto& [name, value] : asked.sent().headers) {
    EXPECT_TRUE(name == "Host" || name == "X-Kept" || name == "X-Balance-Relayed-By" ||
                name.starts_with("X-Forwarded-"))
        << name;
  }
  EXPECT_EQ(asked.header("X-Kept"), "1");
}

TEST(RelayRequest, ThePoisonedProxyHeaderIsDropped) {
  EXPECT_EQ(Asked({"HTTP_PROXY=http://evil.example"}).header("Proxy"), "(none)");
}

TEST(RelayRequest, WhatAClientForgesOfForwardingIsNotPassedOn) {
  Asked asked({"HTTP_X_FORWARDED_HOST=evil.com", "HTTP_X_FORWARDED_PORT=1", "HTTP_X_FORWARDED_PROTO=https,http",
               "HTTP_X_FORWARDED_FOR=6.6.6.6", "HTTP_X_FORWARDED_SERVER=evil.com", "HTTP_X_FORWARDED_PREFIX=/evil",
               "HTTP_FORWARDED=host=evil.com", "HTTP_X_REAL_IP=6.6.6.6", "REMOTE_ADDR=192.0.2.7",
               "HTTP_HOST=maps.example.org"});
  std::string all;
  for (const auto& [name, value] : asked.sent().headers) all.append(name).append(": ").append(value).append("\n");
  EXPECT_EQ(all.find("evil"), std::string::npos) << all;
  EXPECT_EQ(all.find("6.6.6.6"), std::string::npos) << all;
  EXPECT_EQ(asked.header("X-Forwarded-For"), "192.0.2.7");
  EXPECT_EQ(asked.header("X-Forwarded-Host"), "maps.example.org");
  EXPECT_EQ(asked.header("X-Forwarded-Proto"), "http");
}

TEST(Forwarded, IsThePublicUrlWhateverTheRequestSays) {
  const std::vector<std::string> evil{"HTTP_HOST=evil.com:81", "SERVER_NAME=evil.com", "SERVER_PORT=81", "HTTPS=on"};
  EXPECT_EQ(forwarded(evil, "public-url = https://maps.example.org:8443\n"), "https maps.example.org 8443");
  EXPECT_EQ(forwarded(evil, "public-url = http://maps.example.org/x\n"), "http maps.example.org 80");
  EXPECT_EQ(forwarded(evil, "public-url = http://[2001:db8::1]\n"), "http [2001:db8::1] 80");
}

TEST(Forwarded, IsElseWhatTheRequestSays) {
  EXPECT_EQ(forwarded({"HTTP_HOST=h:8443", "HTTPS=on", "SERVER_PORT=8443"}), "https h 8443");
  EXPECT_EQ(forwarded({"HTTP_HOST=h", "HTTPS=on", "SERVER_PORT=443"}), "https h 443");
  EXPECT_EQ(forwarded({"HTTP_HOST=h:8080"}), "http h 8080");
  EXPECT_EQ(forwarded({"HTTP_HOST=[::1]:8080"}), "http [::1] 8080");
  EXPECT_EQ(forwarded({"SERVER_NAME=::1", "SERVER_PORT=8080"}), "http [::1] 8080");
  EXPECT_EQ(forwarded({"SERVER_NAME=h", "SERVER_PORT=81", "HTTP_HOST=a/../b"}), "http h 81");
  EXPECT_EQ(forwarded({"SERVER_NAME=h", "SERVER_PORT=81", "HTTP_HOST=a\r\nX: y"}), "http h 81");
  EXPECT_EQ(forwarded({}), "(none) (none) (none)");
}

TEST(Forwarded, BelievesATrustedProxyAndOnlyTheLastOfItsList) {
  const std::string trusts = "trusted-proxies = 10.0.0.1\n";
  const std::vector<std::string> behind{"REMOTE_ADDR=10.0.0.1", "HTTP_HOST=inner:8080", "HTTP_X_FORWARDED_PROTO=https"};
  const auto with = [&](std::vector<std::string> more) {
    more.insert(more.end(), behind.begin(), behind.end());
    return more;
  };
  EXPECT_EQ(forwarded(with({"HTTP_X_FORWARDED_HOST=evil.com, maps.example.org"}), trusts),
            "https maps.example.org 443");
  EXPECT_EQ(forwarded(with({"HTTP_X_FORWARDED_HOST=maps.example.org:8443"}), trusts), "https maps.example.org 8443");
  EXPECT_EQ(forwarded(with({"HTTP_X_FORWARDED_HOST=maps.example.org", "HTTP_X_FORWARDED_PORT=8443"}), trusts),
            "https maps.example.org 8443");
  EXPECT_EQ(forwarded(with({"HTTP_X_FORWARDED_PORT=443"}), trusts), "https inner 443");
  EXPECT_EQ(forwarded(with({"HTTP_X_FORWARDED_HOST=a b"}), trusts), "https inner 8080");
  EXPECT_EQ(forwarded(with({"HTTP_X_FORWARDED_HOST=evil.com"})), "http inner 8080");
}

TEST(Forwarded, ForIsOneAddressAndThatOfTheClient) {
  const std::string trusts = "trusted-proxies = 10.0.0.1\n";
  EXPECT_EQ(Asked({"REMOTE_ADDR=2001:db8::7"}).header("X-Forwarded-For"), "2001:db8::7");
  EXPECT_EQ(
      Asked({"REMOTE_ADDR=10.0.0.1", "HTTP_X_FORWARDED_FOR=6.6.6.6, 192.0.2.9"}, trusts).header("X-Forwarded-For"),
      "192.0.2.9");
  EXPECT_EQ(Asked({"REMOTE_ADDR=unix:"}).header("X-Forwarded-For"), "(none)");
}

TEST(RelayRequest, HeadersWithControlCharactersAreDropped) {
  EXPECT_EQ(Asked({"HTTP_X_A=1\r\nEvil: 1"}).header("X-A"), "(none)");
  EXPECT_EQ(Asked({"HTTP_X_A=1\nEvil: 1"}).header("X-A"), "(none)");
  EXPECT_EQ(Asked({"HTTP_X_A=1\x01"}).header("X-A"), "(none)");
  EXPECT_EQ(Asked({"HTTP_X_A=\xC3\xA4\t1"}).header("X-A"), "\xC3\xA4\t1");
  EXPECT_EQ(Asked({"REQUEST_METHOD=POST", "CONTENT_TYPE=text/xml\r\nEvil: 1"}).header("Content-Type"), "(none)");
  Asked odd({"HTTP_X A=1", "HTTP_X:A=1", "HTTP_=1", "HTTP_\xC3\xA4=1"});
  for (const auto& [name, value] : odd.sent().headers) EXPECT_NE(value, "1") << name;
}

TEST(RelayRequest, TheBalancersOwnCookieStaysHere) {
  EXPECT_EQ(Asked({"HTTP_COOKIE=a=1; BALANCE_HOST=pinchot;b=2"}).header("Cookie"), "a=1; b=2");
  EXPECT_EQ(Asked({"HTTP_COOKIE=BALANCE_HOST=pinchot"}).header("Cookie"), "(none)");
  EXPECT_EQ(Asked({"HTTP_COOKIE=BALANCE_HOSTS=1;"}).header("Cookie"), "BALANCE_HOSTS=1;");
}

TEST(RelayRequest, EncodingsAreAcceptedUnlessThePictureIsLookedAt) {
  EXPECT_EQ(
      Asked({"HTTP_ACCEPT_ENCODING=gzip, br", "QUERY_STRING=service=WFS&request=GetFeature"}).header("Accept-Encoding"),
      "gzip, br");
  EXPECT_EQ(Asked({"HTTP_ACCEPT_ENCODING=gzip", "QUERY_STRING=service=WMS&request=GetMap"}).header("Accept-Encoding"),
            "(none)");
}

TEST(RelayRequest, OfTwoHeadersWithOneNameTheFirstCounts) {
  Asked asked({"HTTP_X_A=second", "HTTP_X_A=first"});
  EXPECT_EQ(asked.header("X-A"), "first");
}

TEST(RelayLoop, IsSeenByTheMarkThatTheRequestCarries) {
  Asked first;
  const std::string mark = first.header("X-Balance-Relayed-By");
  EXPECT_EQ(mark.size(), 16U);
  const auto round = [](const std::string& marks) {
    RawRequest raw = get("");
    raw.headers.push_back({"X_BALANCE_RELAYED_BY", marks});
    return request_of(raw).is_relayed_round;
  };
  EXPECT_TRUE(round(mark));
  EXPECT_TRUE(round("0123456789abcdef, " + mark));
  EXPECT_FALSE(round("0123456789abcdef"));
  EXPECT_FALSE(round("1,2,3,4"));
  EXPECT_TRUE(round("1,2,3,4,5"));
  EXPECT_FALSE(request_of(get("")).is_relayed_round);
}

TEST(RelayLoop, MarksAddUpAndForgedOnesAreDropped) {
  const std::string mark = Asked().header("X-Balance-Relayed-By");
  EXPECT_EQ(Asked({"HTTP_X_BALANCE_RELAYED_BY=0123456789abcdef"}).header("X-Balance-Relayed-By"),
            "0123456789abcdef, " + mark);
  EXPECT_EQ(Asked({"HTTP_X_BALANCE_RELAYED_BY=x\r\ny"}).header("X-Balance-Relayed-By"), mark);
}

TEST(RawRequest, KnowsEveryHeader) {
  const char* const variables[] = {"HTTP_A=1", "HTTP_B_C=2", "HTTP_=3", "HTTPS=on", "SERVER_NAME=x", "junk", nullptr};
  const RawRequest raw = raw_request(variables);
  ASSERT_EQ(raw.headers.size(), 2U);
  EXPECT_EQ(raw.header("A"), "1");
  EXPECT_EQ(raw.header("B_C"), "2");
  EXPECT_EQ(raw.header("D"), "");
}

}  // namespace
}  // namespace balance
