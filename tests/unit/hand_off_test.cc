// SPDX-License-Identifier: MIT
// A relay that nginx carries out: what it is told, when it is told, and what becomes of a try that failed.
#include "balance/ground/hand_off.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <string_view>
#include <vector>

#include "balance/ground/relay_request.h"
#include "balance/ground/retry.h"
#include "tests/unit/requests.h"

namespace balance {
namespace {

RawRequest behind_nginx(std::string_view query = "mode=map", std::string_view failed = "") {
  RawRequest raw = get(query);
  raw.balance_accel = "@balance_host";
  raw.balance_failed = failed;
  raw.remote_addr = "192.0.2.7";
  return raw;
}

Action action(const RawRequest& raw, const std::string& lines = "answer.image = accel\n",
              Relaying relaying = Relaying::built_in) {
  const Config config = config_of(lines);
  return plan_for(request_of(raw, config), config, relaying).action;
}

std::string relay_mark_of(const std::string& lines, const std::string& hosts) {
  return relay_mark(config_of(lines, hosts));
}

std::string order(const RawRequest& raw, const std::string& lines, const std::string& hosts) {
  const Config config = config_of(lines, hosts);
  const Request request = request_of(raw, config);
  return to_cgi(hand_off(request, config.hosts.front(), config), request.method);
}

TEST(HandOff, TellsTheWebServerWhomToAskAndWhatToSay) {
  EXPECT_EQ(order(behind_nginx(), "public-url = https://maps.example.org/cgi-bin/mapserv\n",
                  "host = pinchot https://pinchot.example.org inside=http://10.0.0.12:8080 script=/cgi-bin/ms\n"),
            "Status: 200 OK\r\n"
            "X-Accel-Redirect: @balance_host\r\n"
            "X-Balance-To: http://10.0.0.12:8080\r\n"
            "X-Balance-Path: /cgi-bin/ms\r\n"
            "X-Balance-Name: pinchot\r\n"
            "X-Balance-For: 192.0.2.7\r\n"
            "X-Balance-Public-Host: maps.example.org\r\n"
            "X-Balance-Public-Port: 443\r\n"
            "X-Balance-Public-Proto: https\r\n"
            "X-Balance-Mark: " +
                relay_mark_of("public-url = https://maps.example.org/cgi-bin/mapserv\n",
                              "host = pinchot https://pinchot.example.org inside=http://10.0.0.12:8080 "
                              "script=/cgi-bin/ms\n") +
                "\r\n"
                "Access-Control-Allow-Origin: *\r\n"
                "X-Balance-Host: pinchot\r\n\r\n");
}

TEST(HandOff, KeepsThePathAsItWasWritten) {
  RawRequest raw = behind_nginx("f=json");
  raw.request_uri = "/cgi-bin/mapserv/WORLD/ogcapi%2Fx?f=json";
  raw.path_info = "/WORLD/ogcapi/x";
  EXPECT_NE(
      order(raw, "", "host = a http://10.0.0.1\n").find("\r\nX-Balance-Path: /cgi-bin/mapserv/WORLD/ogcapi%2Fx\r\n"),
      std::string::npos);
}

TEST(HandOff, NeedsAWebServerThatOffersIt) {
  EXPECT_EQ(action(behind_nginx()), Action::accel);
  EXPECT_EQ(action(get("mode=map")), Action::relay);
  EXPECT_EQ(action(get("mode=map"), "answer.image = accel\n", Relaying::absent), Action::refuse);
  EXPECT_EQ(action(behind_nginx(), ""), Action::redirect_302);
}

TEST(HandOff, AClientsHeadersOfferNothing) {
  const char* const variables[] = {"REQUEST_METHOD=GET", "QUERY_STRING=mode=map", "HTTP_BALANCE_ACCEL=@balance_host",
                                   "HTTP_X_BALANCE_TO=http://evil.example.org", nullptr};
  EXPECT_EQ(action(raw_request(variables)), Action::relay);
}

TEST(HandOff, GoesToNamedLocationsOnly) {
  EXPECT_EQ(named_location("@balance_host"), "@balance_host");
  EXPECT_EQ(named_location("@a-1"), "@a-1");
  for (const std::string_view text : {"", "@", "/internal", "balance", "@a b", "@a\r\nX: y", "@a/b", "@\xc3\xa9"}) {
    EXPECT_EQ(named_location(text), "") << text;
  }
}

TEST(HandOff, IsReadBackWhenItFailed) {
  const auto failed = failed_hand_off("pinchot; 200 : 502; 0.000 : -");
  ASSERT_TRUE(failed);
  EXPECT_EQ(failed->host, "pinchot");
  EXPECT_EQ(failed->status, 502);
  EXPECT_FALSE(failed->was_sent);
  EXPECT_TRUE(failed_hand_off("pinchot; 200 : 504; 0.000 : 0.002")->was_sent);
  EXPECT_EQ(failed_hand_off("pinchot; 200 : 502, 503; 0.000 : -, 0.1")->status, 503);
  EXPECT_TRUE(failed_hand_off("pinchot; 503; 0.1")->was_sent);
}

// What cannot be understood was perhaps sent: then a transaction is not repeated.
TEST(HandOff, ThatSaysNothingOfItsTryCountsAsSent) {
  EXPECT_TRUE(failed_hand_off("pinchot; ;")->was_sent);
  EXPECT_EQ(failed_hand_off("pinchot; ;")->status, 502);
  EXPECT_EQ(failed_hand_off("pinchot; 99999999999999999999; -")->status, 502);
  EXPECT_FALSE(failed_hand_off(""));
  EXPECT_FALSE(failed_hand_off("; 502; -"));
  EXPECT_FALSE(failed_hand_off("pinchot"));
  EXPECT_FALSE(failed_hand_off("a; b; c; d"));
}

TEST(HandOff, ThatFailedIsRelayedToAnotherHost) {
  const RawRequest raw = behind_nginx("mode=map", "pinchot; 200 : 502; 0.000 : -");
  EXPECT_EQ(action(raw), Action::relay);
  const Config config = config_of("answer.image = accel\n", "host = pinchot http://a\nhost = leopold http://b\n");
  const Request request = request_of(raw, config);
  const Plan plan = plan_for(request, config, Relaying::built_in);
  EXPECT_EQ(target_of(request, config.hosts[0], config, plan), Target::failed);
  EXPECT_EQ(target_of(request, config.hosts[1], config, plan), Target::fit);
}

TEST(HandOff, TellsWhatHappenedAsARelayWould) {
  EXPECT_EQ(relayed_of({"a", 502, false}), Relayed::no_connection);
  EXPECT_EQ(relayed_of({"a", 504, false}), Relayed::no_connection);
  EXPECT_EQ(relayed_of({"a", 502, true}), Relayed::bad_gateway);
  EXPECT_EQ(relayed_of({"a", 503, true}), Relayed::unavailable);
  EXPECT_EQ(relayed_of({"a", 504, true}), Relayed::timed_out);
}

TEST(HandOff, IsNoAnswerForPictureFilesThatOneHostHas) {
  EXPECT_NE(faults_of("host = a http://a\nanswer.artifact = accel\n").find("wanted redirect, 307 or relay"),
            std::string::npos);
  EXPECT_EQ(faults_of("host = a http://a\nanswer.body = accel\nanswer.document = accel\nanswer.long = accel\n"), "");
}

TEST(HandOff, ToHostsWithNamesIsWarnedOf) {
  const auto warned = [](const std::string& lines, const std::string& host) {
    const std::vector<std::string> all = warnings(config_of(lines, host + "host = b http://198.51.100.2\n"));
    return std::ranges::any_of(all, [](const std::string& one) {
      return one ==
             "answer = accel has nginx look up the names of these hosts, for which it needs its 'resolver': a; "
             "inside=http://ADDRESS needs none";
    });
  };
  EXPECT_TRUE(warned("answer.image = accel\n", "host = a http://a.example.org\n"));
  EXPECT_FALSE(warned("answer.image = accel\n", "host = a http://a.example.org inside=http://[2001:db8::7]\n"));
  EXPECT_FALSE(warned("", "host = a http://a.example.org\n"));
}

TEST(HandOff, NeedsTheProgramThatRelaysForWhatFails) {
  EXPECT_TRUE(ever_relays(config_of("mode = redirect\nanswer.image = accel\n", "host = a https://a\n")));
}

}  // namespace
}  // namespace balance
