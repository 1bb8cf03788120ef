// SPDX-License-Identifier: MIT
#include "balance/front/decide.h"

#include <gtest/gtest.h>

#include <map>
#include <string>
#include <vector>

#include "tests/unit/requests.h"
#include "tests/unit/scratch_dir.h"
#include "tests/unit/tables.h"

namespace balance {
namespace {

constexpr Instant kNow{Seconds{5000}};

const char* const kThreeHosts =
    "host = pinchot http://pinchot.example.org:8080 probe=none\n"
    "host = leopold http://leopold.example.org:8080 probe=none\n"
    "host = darwin http://darwin.example.org probe=none\n";

RawRequest asking(std::string_view query) { return from("192.0.2.7", query); }

std::string without_table(const std::string& config_text, const RawRequest& raw) {
  const Config config = config_of("", config_text);
  Draw draw{1};
  const Decision decision = decide_and_dispatch(request_of(raw, config), config, nullptr, kNow, draw);
  return std::to_string(decision.reply.status) + " " + header(decision.reply, "Location");
}

class WithTable : public testing::Test {
 protected:
  explicit WithTable(const std::string& text = kThreeHosts)
      : config_(config_of("", text)), table_(make_table(folder_ / "test.table", config_)), draw_{1} {
    publish_pool(kNow);
  }
  void publish_pool(Instant at) {
    PoolStanding pool;
    pool.beat = pool.started = at;
    table_.publish(pool);
  }
  void put(std::size_t host, Health health, double requests, Instant at = kNow) {
    Standing standing = healthy(at);
    standing.health = health;
    table_.publish(host, standing);
    table_.set_prediction(host, Prediction{requests, at});
  }
  Decision ask(const RawRequest& raw, Instant now = kNow) {
    return decide_and_dispatch(request_of(raw, config_), config_, &table_, now, draw_);
  }
  std::string host_of(const Decision& decision) {
    return decision.host ? config_.hosts[*decision.host].name : "nobody";
  }

  ScratchDir folder_;
  Config config_;
  Table table_;
  Draw draw_;
};

TEST_F(WithTable, ADecisionSendsTheClientToTheLeastBusyHost) {
  put(0, Health::up, 9);
  put(1, Health::up, 2);
  put(2, Health::up, 5);
  const Decision decision = ask(asking("mode=map&map=WORLD"));
  EXPECT_EQ(decision.reply.status, 302);
  EXPECT_EQ(header(decision.reply, "Location"), "http://leopold.example.org:8080/cgi-bin/mapserv?mode=map&map=WORLD");
  EXPECT_EQ(header(decision.reply, "X-Balance-Host"), "leopold");
  EXPECT_EQ(decision.choice.reason, Reason::least_cost);
}

TEST_F(WithTable, EveryDispatchIsCountedOnce) {
  put(0, Health::up, 1);
  put(1, Health::up, 20);
  put(2, Health::up, 20);
  ask(asking("mode=map"));
  ask(asking("mode=map"));
  EXPECT_EQ(table_.dispatches(0), 2U);
  EXPECT_EQ(table_.dispatches(1), 0U);
  EXPECT_NEAR(table_.live(0, kNow).prediction.requests, 3, 0.01);
}

TEST_F(WithTable, EqualHostsGetTheirTurnOneAfterAnother) {
  for (std::size_t host = 0; host < 3; ++host) put(host, Health::up, 0);
  std::map<std::string, int> shares;
  for (int i = 0; i < 30; ++i) ++shares[host_of(ask(asking("mode=map"), kNow))];
  EXPECT_EQ(shares, (std::map<std::string, int>{{"darwin", 10}, {"leopold", 10}, {"pinchot", 10}}));
}

TEST_F(WithTable, OptionsIsAnsweredHereAndDispatchesNothing) {
  RawRequest raw = asking("request=GetMap&service=WMS");
  raw.method = "OPTIONS";
  const Decision decision = ask(raw);
  EXPECT_EQ(decision.reply.status, 204);
  EXPECT_FALSE(decision.host);
  EXPECT_EQ(table_.dispatches(0) + table_.dispatches(1) + table_.dispatches(2), 0U);
}

TEST_F(WithTable, AHostDownForSureGetsNothing) {
  put(0, Health::down, 0);
  put(1, Health::up, 50);
  put(2, Health::down, 0);
  for (int i = 0; i < 5; ++i) EXPECT_EQ(host_of(ask(asking("mode=map"))), "leopold");
}

TEST_F(WithTable, AllDownIsA503ThatAsksToComeAgain) {
  for (std::size_t host = 0; host < 3; ++host) put(host, Health::down, 0);
  const Decision decision = ask(asking("mode=map"));
  EXPECT_EQ(decision.reply.status, 503);
  EXPECT_EQ(header(decision.reply, "Retry-After"), "5");
  EXPECT_EQ(header(decision.reply, "Location"), "(none)");
}

TEST_F(WithTable, AllDownInATableThatNobodyRefreshesIsAnOldStory) {
  for (std::size_t host = 0; host < 3; ++host) put(host, Health::down, 0);
  const Decision decision = ask(asking("mode=map"), kNow + Seconds{100});
  EXPECT_EQ(decision.reply.status, 302);
  EXPECT_EQ(decision.choice.reason, Reason::by_weight);
}

TEST_F(WithTable, AFollowUpGoesToTheHostThatServedThePage) {
  put(0, Health::up, 0);
  put(1, Health::up, 30);
  put(2, Health::up, 30);
  EXPECT_EQ(host_of(ask(asking("mode=browse&map=WORLD"))), "pinchot");
  put(0, Health::up, 60);
  EXPECT_NE(host_of(ask(asking("mode=map&map=WORLD"))), "pinchot");
  EXPECT_EQ(host_of(ask(asking("mode=map&map=WORLD&id=12345"))), "pinchot");
}

TEST_F(WithTable, AFollowUpAfterTenMinutesIsFree) {
  put(0, Health::up, 0);
  put(1, Health::up, 30);
  put(2, Health::up, 40);
  ask(asking("mode=browse"));
  for (const double seconds : {599.0, 601.0}) {
    const Instant later = kNow + Seconds{seconds};
    publish_pool(later);
    put(0, Health::up, 60, later);
    put(1, Health::up, 30, later);
    put(2, Health::up, 40, later);
    EXPECT_EQ(host_of(ask(asking("mode=map&id=12345"), later)), seconds < 600 ? "pinchot" : "leopold");
  }
}

TEST_F(WithTable, AFollowUpIsFreeWhenItsHostIsDown) {
  put(0, Health::up, 0);
  put(1, Health::up, 30);
  put(2, Health::up, 40);
  ask(asking("mode=browse"));
  put(0, Health::down, 0);
  EXPECT_EQ(host_of(ask(asking("id=12345"))), "leopold");
}

TEST_F(WithTable, AnotherClientsPageBindsNobodyElse) {
  put(0, Health::up, 0);
  put(1, Health::up, 30);
  put(2, Health::up, 40);
  ask(asking("mode=browse"));
  put(0, Health::up, 60);
  RawRequest other = asking("id=12345");
  other.remote_addr = "192.0.2.8";
  EXPECT_EQ(host_of(ask(other)), "leopold");
}

TEST_F(WithTable, AnImageBindsNobody) {
  put(0, Health::up, 0);
  put(1, Health::up, 30);
  put(2, Health::up, 40);
  ask(asking("mode=map"));
  put(0, Health::up, 60);
  EXPECT_EQ(host_of(ask(asking("id=12345"))), "leopold");
}

TEST_F(WithTable, ATurnLostToAnotherProcessIsChosenAnew) {
  for (std::size_t host = 0; host < 3; ++host) put(host, Health::up, 0);
  const Request request = request_of(asking("mode=map"), config_);
  const Plan plan = plan_for(request, config_, Relaying::absent);
  const Snapshot before = snapshot_for(request, config_, plan, table_, kNow, draw_);
  const Decision first = decide(request, config_, plan, before, draw_);
  ASSERT_TRUE(first.choice.took_turn);
  const Candidate& chosen = candidate_of(before, *first.host);
  const Turn after = turn_taken(chosen, before.virtual_time);
  ASSERT_TRUE(table_.take_turn(*first.host, chosen.turn, after.host, after.pool));
  EXPECT_FALSE(table_.take_turn(*first.host, chosen.turn, after.host, after.pool));
  EXPECT_NE(host_of(ask(asking("mode=map"))), host_of(first));
}

TEST(Decide, WithoutATableSpreadsByWeight) {
  const Config config = config_of("",
                                  "host = pinchot http://pinchot.example.org weight=3\n"
                                  "host = leopold http://leopold.example.org\n"
                                  "host = capra http://capra.example.org weight=0\n"
                                  "host = darwin http://darwin.example.org backup\n");
  const Request request = request_of(asking("mode=map"), config);
  Draw draw{7};
  std::map<std::string, int> shares;
  for (int i = 0; i < 4000; ++i) {
    draw.next();
    const Decision decision = decide_and_dispatch(request, config, nullptr, kNow, draw);
    ASSERT_TRUE(decision.host);
    EXPECT_EQ(decision.choice.reason, Reason::by_weight);
    ++shares[config.hosts[*decision.host].name];
  }
  EXPECT_EQ(shares.size(), 2U);
  EXPECT_NEAR(shares["pinchot"], 3000, 120);
  EXPECT_NEAR(shares["leopold"], 1000, 120);
}

TEST(Decide, WithoutATableAndWithBackupsAloneTakesABackup) {
  EXPECT_EQ(without_table("host = darwin http://darwin.example.org backup\n"
                          "host = capra http://capra.example.org weight=0\n",
                          asking("mode=map")),
            "302 http://darwin.example.org/cgi-bin/mapserv?mode=map");
}

TEST(Decide, PostIsRedirectedWith307) {
  RawRequest raw = asking("map=WORLD");
  raw.method = "POST";
  raw.content_type = "text/xml";
  raw.content_length = "12";
  EXPECT_EQ(without_table("host = darwin http://darwin.example.org\n", raw),
            "307 http://darwin.example.org/cgi-bin/mapserv?map=WORLD");
}

TEST(Decide, AnHttpsClientAndHttpHostsAreA503ThatNamesAllowDowngrade) {
  const Config config = config_of("", "host = darwin http://darwin.example.org\n");
  RawRequest raw = asking("mode=map");
  raw.https = "on";
  Draw draw{1};
  const Decision decision = decide_and_dispatch(request_of(raw, config), config, nullptr, kNow, draw);
  EXPECT_EQ(decision.reply.status, 503);
  EXPECT_NE(decision.reply.body.find("allow-downgrade"), std::string::npos) << decision.reply.body;
}

TEST(Decide, AnHttpsClientGoesToTheHttpsHost) {
  RawRequest raw = asking("mode=map");
  raw.https = "on";
  EXPECT_EQ(without_table("host = darwin http://darwin.example.org\nhost = muir https://muir.example.org\n", raw),
            "302 https://muir.example.org/cgi-bin/mapserv?mode=map");
}

TEST(Decide, InsideOnlyHostsAloneAreA503ThatNamesThem) {
  const Config config = config_of("", "host = audubon inside-only=http://10.0.0.15:8080\n");
  Draw draw{1};
  const Decision decision = decide_and_dispatch(request_of(asking("mode=map"), config), config, nullptr, kNow, draw);
  EXPECT_EQ(decision.reply.status, 503);
  EXPECT_NE(decision.reply.body.find("inside-only"), std::string::npos) << decision.reply.body;
}

TEST(Decide, OnlyLoopsLeftIs508) {
  EXPECT_EQ(without_table("host = self http://maps.example.org\n", asking("mode=map")), "508 (none)");
}

TEST(Decide, ALoopIsLeftOutWhileThereAreOthers) {
  EXPECT_EQ(
      without_table("host = self http://maps.example.org\nhost = muir http://muir.example.org\n", asking("mode=map")),
      "302 http://muir.example.org/cgi-bin/mapserv?mode=map");
}

TEST(Decide, RelayingThatIsAskedForIsA503ThatNamesTheSetting) {
  const Config config = config_of("", "host = muir http://muir.example.org\nmode = relay\n");
  Draw draw{1};
  const Decision decision = decide_and_dispatch(request_of(asking("mode=map"), config), config, nullptr, kNow, draw);
  EXPECT_EQ(decision.reply.status, 503);
  EXPECT_NE(decision.reply.body.find("mode"), std::string::npos) << decision.reply.body;
  EXPECT_FALSE(decision.host);
}

TEST(ClientKey, OfIpv6IsThatOfItsSite) {
  const auto key = [](std::string_view text) { return client_key(*base::parse_address(text)); };
  EXPECT_EQ(key("2001:db8:1:2::7"), key("2001:db8:1:2:ffff::1"));
  EXPECT_NE(key("2001:db8:1:2::7"), key("2001:db8:1:3::7"));
  EXPECT_NE(key("192.0.2.1"), key("192.0.2.2"));
}

}  // namespace
}  // namespace balance
