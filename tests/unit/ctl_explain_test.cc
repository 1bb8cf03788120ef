// SPDX-License-Identifier: MIT
#include <gtest/gtest.h>

#include "balance/ctl/explain.h"
#include "balance/ground/sticky.h"
#include "balance/pool/decision.h"
#include "tests/unit/requests.h"
#include "tests/unit/scratch_dir.h"
#include "tests/unit/tables.h"

namespace balance {
namespace {

constexpr Instant kNow{Seconds{1000}};
constexpr Draw kDraw{1};

Config pool(const std::string& more = "") {
  return config_of("public-url = http://maps.example.org/cgi-bin/mapserv\n" + more,
                   "host = pinchot http://pinchot.example.org:8080\n"
                   "host = leopold http://leopold.example.org:8080\n"
                   "host = audubon inside-only=http://10.0.0.15:8080\n");
}

// pinchot has four requests in progress, leopold one; both have four cores and no work of their own.
Table table_at(const std::string& path, const Config& config) {
  Table table = make_table(path, config);
  for (std::size_t i = 0; i < 3; ++i) table.publish(i, healthy(kNow));
  table.publish(PoolStanding{.beat = kNow, .started = kNow - Seconds{60}, .greatest_capacity = 4});
  table.set_prediction(0, {.requests = 4, .at = kNow});
  table.set_prediction(1, {.requests = 1, .at = kNow});
  table.set_prediction(2, {.requests = 6, .at = kNow});
  return table;
}

std::string told(const Inquiry& inquiry, const Config& config, const Table* table) {
  const base::Result<Explanation> explanation = explain(inquiry, config, table, kNow, kDraw);
  EXPECT_TRUE(explanation) << (explanation ? "" : explanation.error().what);
  return explanation ? explanation->text : "";
}

Inquiry asking(const std::string& query) {
  Inquiry inquiry;
  inquiry.query = query;
  return inquiry;
}

TEST(Explain, TellsClassCostsChoiceAndLocation) {
  ScratchDir dir;
  const Config config = pool();
  const Table table = table_at(dir / "t", config);
  EXPECT_EQ(told(asking("map=WORLD&mode=map"), config, &table),
            "request    GET /cgi-bin/mapserv?map=WORLD&mode=map\n"
            "class      image (mode=map)\n"
            "plan       redirect with 302\n"
            "chosen     by predicted load\n"
            "\n"
            "HOST     STATE   TARGET  PREDICTED  BACKGROUND  CORES  WEIGHT  RAMP  SLOW   COST\n"
            "pinchot  usable  fit          4.00        0.00      4       1  1.00  1.00  1.250\n"
            "leopold  usable  fit          1.00        0.00      4       1  1.00  1.00  0.500\n"
            "audubon  usable  relay        6.00        0.00      4       1  1.00  1.00  1.750\n"
            "\n"
            "choice     leopold: it has the least cost\n"
            "then       pinchot, audubon\n"
            "status     302\n"
            "Location   http://leopold.example.org:8080/cgi-bin/mapserv?map=WORLD&mode=map\n");
}

// It was called fit.
TEST(Explain, AHostThatIsDownOrDrainingIsNoTarget) {
  ScratchDir dir;
  const Config config = pool();
  Table table = table_at(dir / "t", config);
  Standing down;
  down.health = Health::down;
  down.cause = "web port: connection refused";
  table.publish(0, down);
  table.publish(2, down);
  ASSERT_TRUE(table.set_by_hand({{{}, {.duty = Duty::draining}, {}}, std::nullopt}, table.words_by_hand()));
  const std::string text = told(asking("map=WORLD&mode=map"), config, &table);
  EXPECT_NE(text.find("pinchot  down      no "), std::string::npos) << text;
  EXPECT_NE(text.find("leopold  draining  no "), std::string::npos) << text;
  EXPECT_NE(text.find("audubon  down      no "), std::string::npos) << text;
  EXPECT_NE(text.find("choice     nobody"), std::string::npos) << text;
}

TEST(Explain, ADrainingHostIsTheTargetOfItsOwnClients) {
  ScratchDir dir;
  const Config config = pool("sticky = client\n");
  Table table = table_at(dir / "t", config);
  ASSERT_TRUE(table.set_by_hand({{{.duty = Duty::draining}, {}, {}}, std::nullopt}, table.words_by_hand()));
  Inquiry inquiry = asking("mode=map");
  inquiry.client = "192.0.2.7";
  EXPECT_NE(told(inquiry, config, &table).find("pinchot  draining  no "), std::string::npos);
  table.claim_client(sticky_key(*base::parse_address("192.0.2.7")), 0, std::nullopt, kNow - Seconds{18}, Seconds{60});
  const std::string text = told(inquiry, config, &table);
  EXPECT_NE(text.find("pinchot  draining  fit "), std::string::npos) << text;
}

TEST(Explain, DispatchesNothing) {
  ScratchDir dir;
  const Config config = pool();
  const Table table = table_at(dir / "t", config);
  told(asking("map=WORLD&mode=map"), config, &table);
  EXPECT_EQ(table.dispatches(1), 0U);
  EXPECT_EQ(table.live(1, kNow).prediction.requests, 1);
}

TEST(Explain, WithoutATableItIsByWeight) {
  const Config config = pool();
  const std::string text = told(asking("map=WORLD&mode=map"), config, nullptr);
  EXPECT_NE(text.find("chosen     by weight: there is no table\n"), std::string::npos) << text;
  EXPECT_NE(text.find("status     302\n"), std::string::npos) << text;
}

TEST(Explain, AWholeUrlTellsHttpsHostAndPath) {
  ScratchDir dir;
  const Config config = pool();
  const Table table = table_at(dir / "t", config);
  const std::string text = told(asking("https://maps.example.org/cgi-bin/mapserv/WORLD/ogcapi?f=json"), config, &table);
  EXPECT_EQ(text.substr(0, text.find('\n')), "request    GET /cgi-bin/mapserv/WORLD/ogcapi?f=json (client on https)");
}

TEST(Explain, AQuestionMarkInFrontIsNoPartOfTheQuery) {
  const Config config = pool();
  const std::string text = told(asking("?mode=map"), config, nullptr);
  EXPECT_EQ(text.substr(0, text.find('\n')), "request    GET /cgi-bin/mapserv?mode=map");
}

TEST(Explain, AHostThatNoRedirectMayReachIsRelayedTo) {
  ScratchDir dir;
  const Config config = pool();
  const Table table = table_at(dir / "t", config);
  Inquiry inquiry = asking("mode=map");
  inquiry.https = true;
  const base::Result<Explanation> explanation = explain(inquiry, config, &table, kNow, kDraw);
  ASSERT_TRUE(explanation);
  EXPECT_EQ(explanation->status, 200);
  EXPECT_NE(explanation->text.find("leopold  usable  relay "), std::string::npos) << explanation->text;
  EXPECT_NE(explanation->text.find("relayed to http://leopold.example.org:8080/cgi-bin/mapserv?mode=map\n"),
            std::string::npos);
}

TEST(Explain, WithoutRelayingAnHttpsClientIsNotSentToHttpHosts) {
  ScratchDir dir;
  const Config config = pool("mode = redirect\n");
  const Table table = table_at(dir / "t", config);
  Inquiry inquiry = asking("mode=map");
  inquiry.https = true;
  const base::Result<Explanation> explanation = explain(inquiry, config, &table, kNow, kDraw);
  ASSERT_TRUE(explanation);
  EXPECT_EQ(explanation->status, 503);
  EXPECT_NE(explanation->text.find("downgrade"), std::string::npos) << explanation->text;
  EXPECT_NE(explanation->text.find("choice     nobody: there is no host to send to\n"), std::string::npos);
}

TEST(Explain, NamesTheSettingWhereAnHttpsClientMeetsHttpHosts) {
  ScratchDir dir;
  Inquiry inquiry = asking("mode=map");
  inquiry.https = true;
  const std::string line = "the client is on https and the URL is http; see the setting allow-downgrade\n";
  for (const char* const mode : {"", "mode = redirect\n"}) {
    const Config config = pool(mode);
    const Table table = table_at(dir / "t", config);
    for (const Table* known : {&table, static_cast<const Table*>(nullptr)}) {
      const base::Result<Explanation> explanation = explain(inquiry, config, known, kNow, Draw{2});
      ASSERT_TRUE(explanation);
      const bool to_inside_only = explanation->text.find("choice     audubon") != std::string::npos;
      EXPECT_EQ(explanation->text.find(line) != std::string::npos, !to_inside_only) << explanation->text;
    }
  }
  const Config config = pool("allow-downgrade = yes\n");
  const Table table = table_at(dir / "t", config);
  EXPECT_EQ(told(inquiry, config, &table).find("allow-downgrade"), std::string::npos);
}

TEST(Explain, WhatIsNoAddressOfAClientIsAUsageError) {
  const Config config = pool();
  for (const char* const client :
       {"999.1.1.1", "", "localhost", "192.0.2", "192.0.2.1:80", "2001:db8::g", "fe80::1%1"}) {
    Inquiry inquiry = asking("mode=map");
    inquiry.client = client;
    const base::Result<Explanation> explanation = explain(inquiry, config, nullptr, kNow, kDraw);
    ASSERT_FALSE(explanation) << client;
    EXPECT_EQ(explanation.error().fault, base::Fault::usage);
    EXPECT_EQ(explanation.error().what,
              "explain: --client is '" + std::string(client) + "'; wanted an IPv4 or IPv6 address, such as 192.0.2.7");
  }
}

TEST(Explain, TellsWithWhomAClientStays) {
  ScratchDir dir;
  const Config config = pool("sticky = client\n");
  Table table = table_at(dir / "t", config);
  Inquiry inquiry = asking("mode=map");
  inquiry.client = "192.0.2.7";
  EXPECT_NE(told(inquiry, config, &table).find("sticky     nothing is known of this client\n"), std::string::npos);
  table.claim_client(sticky_key(*base::parse_address("192.0.2.7")), 0, std::nullopt, kNow - Seconds{18}, Seconds{60});
  const std::string text = told(inquiry, config, &table);
  EXPECT_NE(text.find("sticky     pinchot, 42s left\n"), std::string::npos) << text;
  EXPECT_NE(text.find("choice     pinchot: this client stays with it\n"), std::string::npos) << text;
  inquiry.client = "192.0.2.8";
  EXPECT_NE(told(inquiry, config, &table).find("choice     leopold: it has the least cost\n"), std::string::npos);
}

TEST(Explain, TellsWhomACookieNames) {
  ScratchDir dir;
  const Config config = pool("sticky = cookie\n");
  const Table table = table_at(dir / "t", config);
  Inquiry inquiry = asking("mode=map");
  EXPECT_NE(told(inquiry, config, &table).find("sticky     it has no cookie of ours\n"), std::string::npos);
  inquiry.cookie = "BALANCE_HOST=0123456789abcdef";
  EXPECT_NE(told(inquiry, config, &table).find("sticky     its cookie names no host of ours\n"), std::string::npos);
  inquiry.cookie = sticky_cookie(Request{}, config, 0);
  const std::string text = told(inquiry, config, &table);
  EXPECT_NE(text.find("sticky     pinchot, by its cookie\n"), std::string::npos) << text;
  EXPECT_NE(text.find("choice     pinchot: this client stays with it\n"), std::string::npos) << text;
}

TEST(Explain, TellsOfTheLocalHost) {
  ScratchDir dir;
  const Config config = pool("local = leopold /cgi-bin/mapserv.real\n");
  const Table table = table_at(dir / "t", config);
  const std::string text = told(asking("mode=map"), config, &table);
  EXPECT_NE(text.find("local      as a CGI program of Apache or lighttpd: no redirect, the web server itself answers "
                      "with /cgi-bin/mapserv.real?mode=map\n"),
            std::string::npos)
      << text;
}

TEST(Explain, OptionsAreAnsweredWithoutAHost) {
  const Config config = pool();
  Inquiry inquiry = asking("mode=map");
  inquiry.method = "OPTIONS";
  EXPECT_EQ(told(inquiry, config, nullptr),
            "request    OPTIONS /cgi-bin/mapserv?mode=map\n"
            "class      options (OPTIONS)\n"
            "plan       answered by the balancer itself\n"
            "status     204\n");
}

TEST(Explain, WhatClientsSendCannotDriveTheTerminal) {
  const Config config = pool();
  const std::string text = told(asking("mode=map&x=\x1b[2J\r\n"), config, nullptr);
  EXPECT_EQ(text.find('\x1b'), std::string::npos);
  EXPECT_EQ(text.find('\r'), std::string::npos);
}

TEST(Explain, AMethodThatIsNoTokenIsAUsageError) {
  Inquiry inquiry = asking("mode=map");
  inquiry.method = "G T";
  const base::Result<Explanation> explanation = explain(inquiry, pool(), nullptr, kNow, kDraw);
  ASSERT_FALSE(explanation);
  EXPECT_EQ(explanation.error().fault, base::Fault::usage);
}

}  // namespace
}  // namespace balance
