// SPDX-License-Identifier: MIT
// Cases from the field that are about relaying: each is named for the symptom, with the public report or document it
// comes from ('owner-or-project#issue'). Those that need real servers are in tests/e2e/relay_test.py.
#include <set>
#include <string>
#include <vector>

#include "balance/ground/host_answer.h"
#include "balance/ground/relay_request.h"
#include "balance/ground/relay_response.h"
#include "balance/ground/retry.h"
#include "tests/unit/requests.h"

namespace balance {
namespace {

RelayRequest relayed(const std::vector<std::string>& variables, const Config& config) {
  std::vector<const char*> pointers;
  for (const std::string& variable : variables) pointers.push_back(variable.c_str());
  pointers.push_back(nullptr);
  const RawRequest raw = raw_request(pointers.data());
  return relay_request(raw, request_of(raw, config), config.hosts.front(), config);
}

std::string header(const RelayRequest& request, std::string_view name) {
  std::string found = "(none)";
  for (const auto& [key, value] : request.headers) {
    if (key != name) continue;
    EXPECT_EQ(found, "(none)") << "two headers " << name;
    found = value;
  }
  return found;
}

HostHead head_of(const std::vector<std::string>& lines) {
  HeadReader reader;
  for (const std::string& line : lines) EXPECT_TRUE(reader.add(line)) << line;
  EXPECT_TRUE(reader.add(""));
  return reader.head();
}

// deegree3#1755, hslayers-ng#591, MapServer#4955: a port in X-Forwarded-Host is written twice, a list is torn.
TEST(FieldCases, APortInTheForwardedHostIsNotSaidTwice) {
  const Config config = config_of("trusted-proxies = 192.0.2.1\n");
  const RelayRequest request = relayed(
      {"REQUEST_METHOD=GET", "SCRIPT_NAME=/cgi-bin/mapserv", "REMOTE_ADDR=192.0.2.1", "HTTP_HOST=inner.example.org",
       "HTTP_X_FORWARDED_HOST=h:8443", "HTTP_X_FORWARDED_PROTO=https, http", "QUERY_STRING=map=A"},
      config);
  EXPECT_EQ(header(request, "X-Forwarded-Host"), "h");
  EXPECT_EQ(header(request, "X-Forwarded-Port"), "8443");
  EXPECT_EQ(header(request, "X-Forwarded-Proto"), "https");
  std::multiset<std::string> names;
  for (const auto& [name, value] : request.headers) {
    EXPECT_EQ(names.count(name), 0U) << name;
    names.insert(name);
    EXPECT_TRUE(!name.starts_with("X-Forwarded") || value.find(',') == std::string::npos) << value;
  }
}

// kargo#108, mapproxy#114, earthenterprise#1650: which host a client gets shows in its capabilities.
TEST(FieldCases, EveryHostIsToldTheSamePublicName) {
  const Config config = config_of("public-url = https://maps.example.org/cgi-bin/mapserv\n",
                                  "host = pinchot http://pinchot.example.org:8080\nhost = leopold "
                                  "http://leopold.example.org inside=http://10.0.0.12:8080\n");
  for (const HostConfig& host : config.hosts) {
    RawRequest raw = get("service=WMS&request=GetCapabilities");
    const RelayRequest request = relay_request(raw, request_of(raw, config), host, config);
    EXPECT_EQ(header(request, "X-Forwarded-Host"), "maps.example.org");
    EXPECT_EQ(header(request, "X-Forwarded-Port"), "443");
    EXPECT_EQ(header(request, "X-Forwarded-Proto"), "https");
  }
}

// MapServer#7288: what failed comes with status 200.
TEST(FieldCases, APageThatSaysMapServerMessageIsAFailureOfItsHost) {
  const auto judgement = judge(wanted_by(request_of(get("map=A&service=WMS&request=GetMap"))),
                               head_of({"HTTP/1.1 200 OK", "Content-Type: text/html"}),
                               "<HTML>\n<HEAD><TITLE>MapServer Message</TITLE></HEAD>\n<BODY>\nmsLoadMap(): Unable to "
                               "access file.\n</BODY></HTML>",
                               Rest::none);
  ASSERT_TRUE(judgement);
  EXPECT_EQ(judgement->answered, Answered::host_fault);
  const std::vector<Relayed> ends{judgement->relayed};
  EXPECT_TRUE(counts_against_host(ends, 0, false));
  EXPECT_TRUE(may_try_again({.unconnected = 0, .sent = 1}, Effect::none, Begun::no, false));
}

// mapservutil.c: WEB ERROR and EMPTY send the client elsewhere.
TEST(FieldCases, ARedirectOfMapServersOwnIsForTheClient) {
  const HostHead head = head_of({"HTTP/1.1 302 Found", "Location: /tmp/error.html?msg=a%20b", "Content-Length: 0"});
  const auto judgement = judge(Wanted::picture, head, "", Rest::none);
  ASSERT_TRUE(judgement);
  EXPECT_EQ(judgement->answered, Answered::fine);
  const Config config = config_of();
  EXPECT_EQ(balance::header(relay_reply(head, config.hosts.front(), config), "Location"), "/tmp/error.html?msg=a%20b");
}

// HAProxy's manual on retry-on: what was sent once may have been carried out.
TEST(FieldCases, ATransactionThatFailedMidWayIsNotSentAgain) {
  Request request;
  request.method = Method::post;
  for (const std::string_view document :
       {"<wfs:Transaction service=\"WFS\"><wfs:Insert/></wfs:Transaction>", "<InsertObservation service=\"SOS\"/>",
        "<RegisterSensor service=\"SOS\"/>", "<wfs:LockFeature/>", "<GetFeatureWithLock/>",
        "<soap:Envelope><soap:Body><wfs:Transaction/></soap:Body></soap:Envelope>"}) {
    const Effect effect = effect_of(request, "text/xml", document, true);
    EXPECT_FALSE(may_try_again({.unconnected = 0, .sent = 1}, effect, Begun::no, false)) << document;
    EXPECT_TRUE(may_try_again({.unconnected = 1, .sent = 0}, effect, Begun::no, false)) << document;
  }
}

// httpoxy: a header that becomes HTTP_PROXY for whatever program comes next.
TEST(FieldCases, AProxyHeaderPoisonsNobody) {
  const RelayRequest request =
      relayed({"REQUEST_METHOD=GET", "SCRIPT_NAME=/cgi-bin/mapserv", "HTTP_PROXY=http://192.0.2.66:8080"}, config_of());
  EXPECT_EQ(header(request, "Proxy"), "(none)");
}

// RFC 3875 6.3, RFC 9110 7.6.1
TEST(FieldCases, WhatHoldsForOneConnectionEndsWithIt) {
  const Config config = config_of("host-header = no\ncors-origin = none\n");
  const HostHead head = head_of({"HTTP/1.1 404 Not Found", "Connection: close, X-Own", "X-Own: 1", "Keep-Alive: x",
                                 "Transfer-Encoding: chunked", "Content-Length: 5", "Status: 200", "Upgrade: h2c",
                                 "Content-Type: text/xml"});
  EXPECT_EQ(to_cgi(relay_reply(head, config.hosts.front(), config), Method::get),
            "Status: 404 Not Found\r\nContent-Type: text/xml\r\n\r\n");
}

}  // namespace
}  // namespace balance
