// SPDX-License-Identifier: MIT
// Shares and duties as they come out of the whole path of a decision: configuration, table, policy. Time comes in.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <string>
#include <vector>

#include "balance/front/decide.h"
#include "tests/unit/requests.h"
#include "tests/unit/scratch_dir.h"
#include "tests/unit/tables.h"

namespace balance {
namespace {

constexpr double kService = 0.15;  // s, of one request

// Hosts whose requests end as the model says, and the reports of a poolwatch every 250 ms.
class Pool {
 public:
  explicit Pool(const std::string& text, double cores = 4)
      : config_(config_of("", text)),
        table_(make_table(folder_ / "test.table", config_)),
        cores_(cores),
        ends_(config_.hosts.size()) {
    report(Instant{Seconds{1000}});
  }

  // One request `after` the one before; the host's index, or nothing where nobody was to be had.
  std::optional<std::size_t> ask(double after, const std::string& query = "map=WORLD&mode=map",
                                 const std::string& client = "192.0.2.7") {
    const Instant now = now_ + Seconds{after};
    while (reported_ + Seconds{0.25} <= now) report(reported_ + Seconds{0.25});
    now_ = now;
    last_ = decide_and_dispatch(request_of(from(client, query), config_), config_, &table_, now, draw_);
    if (last_.host) ends_[*last_.host].push_back(now + Seconds{kService});
    return last_.host;
  }
  std::vector<std::size_t> ask_often(int times, double every) {
    std::vector<std::size_t> chosen;
    for (int i = 0; i < times; ++i) chosen.push_back(ask(every).value_or(99));
    return chosen;
  }
  void say(const std::vector<ByHand>& by_hand) {
    const SetByHand all{by_hand, weights_differ(config_.hosts, by_hand)};
    ASSERT_TRUE(table_.set_by_hand(all, table_.words_by_hand()));
  }
  void reboot(std::size_t host) { up_since_[host] = now_; }
  void fail(std::size_t host) { down_.push_back(host); }
  void heal() { down_.clear(); }
  const Decision& last() const { return last_; }
  Instant now() const { return now_; }
  Table& table() { return table_; }
  const Config& config() const { return config_; }

 private:
  void report(Instant at) {
    PoolStanding pool;
    pool.beat = at;
    pool.started = Instant{Seconds{900}};
    pool.mean_service_seconds = kService;
    table_.publish(pool);
    for (std::size_t host = 0; host < config_.hosts.size(); ++host) {
      std::erase_if(ends_[host], [at](Instant end) { return end <= at; });
      Standing standing = healthy(at);
      standing.health = std::ranges::find(down_, host) != down_.end() ? Health::down : Health::up;
      standing.cores = cores_;
      standing.mean_service_seconds = kService;
      if (up_since_.contains(host)) standing.up_since = up_since_[host];
      table_.publish(host, standing);
      table_.set_prediction(host, Prediction{static_cast<double>(ends_[host].size()), at});
    }
    reported_ = at;
  }

  ScratchDir folder_;
  Config config_;
  Table table_;
  double cores_;
  std::vector<std::vector<Instant>> ends_;
  std::map<std::size_t, Instant> up_since_;
  std::vector<std::size_t> down_;
  Instant now_{Seconds{1000}}, reported_{Seconds{1000}};
  Draw draw_{42};
  Decision last_;
};

std::string hosts_of(const std::vector<std::string>& options) {
  std::string text;
  for (std::size_t i = 0; i < options.size(); ++i) {
    const std::string name = "h" + std::to_string(i);
    text += "host = " + name + " http://" + name + ".example.org " + options[i] + "\n";
  }
  return text;
}

std::vector<double> shares(const std::vector<std::size_t>& chosen, std::size_t hosts) {
  std::vector<double> percent(hosts);
  for (const std::size_t host : chosen) percent.at(host) += 100.0 / static_cast<double>(chosen.size());
  return percent;
}

int longest_run(const std::vector<std::size_t>& chosen) {
  int longest = 0, run = 0;
  for (std::size_t i = 0; i < chosen.size(); ++i) {
    run = i > 0 && chosen[i] == chosen[i - 1] ? run + 1 : 1;
    longest = std::max(longest, run);
  }
  return longest;
}

void expect_shares(const std::vector<double>& found, const std::vector<double>& due, double within) {
  for (std::size_t i = 0; i < due.size(); ++i) EXPECT_NEAR(found.at(i), due[i], within) << "host " << i;
}

TEST(Weights, OneTwoFiveAreExactOnIdleHostsOfOneTwoAndFourCoresAndALiveChangeShowsAtOnce) {
  for (const double cores : {1.0, 2.0, 4.0}) {
    Pool pool(hosts_of({"", "weight=2", "weight=5"}), cores);
    const std::vector<std::size_t> chosen = pool.ask_often(10'000, 0.5);
    expect_shares(shares(chosen, 3), {12.5, 25, 62.5}, 2);
    EXPECT_LE(longest_run(chosen), 3);
    pool.say({{.weight = 5}, {}, {.weight = 1}});
    const std::vector<std::size_t> after = pool.ask_often(1000, 0.5);
    expect_shares(shares(after, 3), {62.5, 25, 12.5}, 2);
    EXPECT_LE(longest_run(after), 3);
  }
}

TEST(Weights, SetByHandCountWhereNoneIsConfigured) {
  Pool pool(hosts_of({"", "", ""}));
  pool.say({{}, {.weight = 2}, {.weight = 5}});
  const std::vector<std::size_t> chosen = pool.ask_often(10'000, 0.5);
  expect_shares(shares(chosen, 3), {12.5, 25, 62.5}, 2);
  EXPECT_LE(longest_run(chosen), 3);
}

TEST(Weights, EqualOnesTakeTurns) {
  for (const std::vector<std::string>& options : {std::vector<std::string>{"", ""}, {"weight=3", "weight=3"}}) {
    Pool pool(hosts_of(options));
    const std::vector<std::size_t> chosen = pool.ask_often(10'000, 0.5);
    expect_shares(shares(chosen, 2), {50, 50}, 2);
    EXPECT_LE(longest_run(chosen), 3);
  }
}

TEST(Weights, UnequalCoresCountBesideThem) {
  Pool pool(hosts_of({"cores=1", "cores=2"}), 0);  // no report tells them
  pool.say({{.weight = 2}, {.weight = 3}});
  expect_shares(shares(pool.ask_often(4000, 0.5), 2), {25, 75}, 2);
}

TEST(Weights, ASmallOneStillGetsItsPart) {
  Pool pool(hosts_of({"", ""}));
  pool.say({{.weight = 0.1}, {}});
  expect_shares(shares(pool.ask_often(4000, 0.5), 2), {100.0 / 11, 1000.0 / 11}, 2);
}

TEST(Weights, ZeroByHandDrainsAndAConfiguredZeroIsLiftedByHand) {
  Pool pool(hosts_of({"", "", "weight=0"}));
  EXPECT_EQ(shares(pool.ask_often(100, 0.5), 3)[2], 0);
  pool.say({{}, {.weight = 0}, {.weight = 1}});
  expect_shares(shares(pool.ask_often(1000, 0.5), 3), {50, 0, 50}, 1);
}

TEST(Weights, APoolOfAThousandDrawsByTheWeightsInForce) {
  Pool pool(hosts_of(std::vector<std::string>(60, "")));
  std::vector<ByHand> said(60);
  for (std::size_t i = 0; i < 20; ++i) said[i].weight = 0;
  pool.say(said);
  const std::vector<double> found = shares(pool.ask_often(2000, 0.1), 60);
  for (std::size_t i = 0; i < 20; ++i) EXPECT_EQ(found[i], 0);
  for (std::size_t i = 20; i < 60; ++i) EXPECT_NEAR(found[i], 2.5, 1.5);
}

TEST(Duties, ADrainedHostGetsNoNewClientsFromTheNextRequestOn) {
  Pool pool(hosts_of({"", "", ""}));
  pool.say({{}, {.duty = Duty::draining}, {}});
  expect_shares(shares(pool.ask_often(500, 0.5), 3), {50, 0, 50}, 2);
  pool.say({{}, {}, {}});
  expect_shares(shares(pool.ask_often(500, 0.5), 3), {33, 33, 33}, 2);
}

TEST(Duties, ADutyThatEndsByItselfEndsWithTheNextRequest) {
  Pool pool(hosts_of({"", ""}));
  pool.say({{.duty = Duty::off, .until = pool.now() + Seconds{100}}, {}});
  EXPECT_EQ(shares(pool.ask_often(199, 0.5), 2)[0], 0);
  expect_shares(shares(pool.ask_often(100, 0.5), 2), {50, 50}, 2);
}

constexpr const char* kPage = "map=WORLD&mode=browse";
constexpr const char* kFollowUp = "map=WORLD&mode=browse&id=7&savequery=true&qlayer=x&mapxy=shape";

class Belonging : public testing::Test {
 protected:
  explicit Belonging(const std::string& more = "") : pool_(more + hosts_of({"", "", ""})) {}
  // The host that this client's page came from.
  std::size_t bind(const std::string& client) { return *pool_.ask(0.5, kPage, client); }
  bool is_bound(const std::string& client, std::size_t host) {
    return pool_.table().host_of_client(client_key(*base::parse_address(client)), pool_.now(), kPageKept) == host;
  }
  static std::vector<ByHand> said(std::size_t host, Duty duty) {
    std::vector<ByHand> by_hand(3);
    by_hand[host].duty = duty;
    return by_hand;
  }
  std::size_t go_on(const std::string& client) { return *pool_.ask(0.5, kFollowUp, client); }
  Pool pool_;
};

TEST_F(Belonging, ClientsOfADrainedHostStayAndThoseOfOneThatIsOffDoNot) {
  const std::size_t host = bind("192.0.2.1");
  ASSERT_EQ(go_on("192.0.2.1"), host);
  pool_.say(said(host, Duty::draining));
  EXPECT_EQ(go_on("192.0.2.1"), host);
  EXPECT_EQ(pool_.last().choice.reason, Reason::client);
  EXPECT_NE(go_on("192.0.2.2"), host);
  pool_.say(said(host, Duty::off));
  EXPECT_NE(go_on("192.0.2.1"), host);
}

TEST_F(Belonging, AnEntryIsNotRenewedWhileItsHostIsDrainingSoThatTheDrainEnds) {
  const std::size_t host = bind("192.0.2.1");
  pool_.say(said(host, Duty::draining));
  const double end = pool_.now().time_since_epoch().count() + kPageKept.count();
  while (pool_.now().time_since_epoch().count() < end - 2) {
    ASSERT_EQ(*pool_.ask(1, kFollowUp, "192.0.2.1"), host);
  }
  pool_.ask(4);
  EXPECT_NE(go_on("192.0.2.1"), host);
}

TEST_F(Belonging, ClientsOfAHostOfWeightZeroStay) {
  const std::size_t host = bind("192.0.2.1");
  std::vector<ByHand> by_hand(3);
  by_hand[host].weight = 0;
  pool_.say(by_hand);
  EXPECT_EQ(go_on("192.0.2.1"), host);
  EXPECT_NE(go_on("192.0.2.2"), host);
}

TEST_F(Belonging, AChangeOfWeightsMovesNobody) {
  const std::size_t host = bind("192.0.2.1");
  std::vector<ByHand> by_hand(3);
  for (std::size_t i = 0; i < 3; ++i) by_hand[i].weight = i == host ? 0.1 : 5;
  pool_.say(by_hand);
  for (int i = 0; i < 20; ++i) EXPECT_EQ(go_on("192.0.2.1"), host);
}

TEST_F(Belonging, ADrainedHostThatDiesLosesItsClientsToo) {
  const std::size_t host = bind("192.0.2.1");
  pool_.say(said(host, Duty::draining));
  pool_.fail(host);
  pool_.ask(0.5);
  EXPECT_NE(go_on("192.0.2.1"), host);
}

class Moving : public Belonging {
 protected:
  Moving() : Belonging("drain-sticky = move\n") {}
};

TEST_F(Moving, ClientsOfADrainedHostGoElsewhereAtOnce) {
  const std::size_t host = bind("192.0.2.1");
  pool_.say(said(host, Duty::draining));
  const std::size_t other = go_on("192.0.2.1");
  EXPECT_NE(other, host);
  EXPECT_TRUE(is_bound("192.0.2.1", other));
}

TEST(Duties, WithAllHostsDrainedTheAnswerSaysSo) {
  Pool pool(hosts_of({"", ""}));
  pool.say({{.duty = Duty::draining}, {.duty = Duty::off}});
  EXPECT_EQ(pool.ask(0.5), std::nullopt);
  EXPECT_EQ(pool.last().reply.status, 503);
  EXPECT_NE(pool.last().reply.body.find("Every map host is being drained or switched off."), std::string::npos)
      << pool.last().reply.body;
}

TEST(Duties, CountWithoutATableAndWithADeadPoolwatchToo) {
  Pool pool(hosts_of({"", "", ""}));
  const Request request = [&] {
    RawRequest raw;
    raw.method = "GET";
    raw.query_string = "map=WORLD&mode=map";
    raw.script_name = raw.request_uri = "/cgi-bin/mapserv";
    return *parse_request(raw, pool.config());
  }();
  const std::vector<ByHand> said{{.duty = Duty::off, .until = Instant{Seconds{50}}}, {.weight = 0}, {.weight = 3}};
  Draw draw{7};
  for (int i = 0; i < 100; ++i) {
    draw.next();
    EXPECT_EQ(decide_and_dispatch(request, pool.config(), nullptr, Instant{Seconds{49}}, draw, {}, said).host, 2U);
  }
  std::vector<int> counts(3);
  for (int i = 0; i < 4000; ++i) {
    draw.next();
    ++counts[*decide_and_dispatch(request, pool.config(), nullptr, Instant{Seconds{51}}, draw, {}, said).host];
  }
  EXPECT_NEAR(counts[0], 1000, 120);
  EXPECT_EQ(counts[1], 0);
  EXPECT_NEAR(counts[2], 3000, 120);
  // All down when poolwatch died: tried all the same, but not the one that is off.
  for (std::size_t host = 0; host < 3; ++host) pool.fail(host);
  EXPECT_EQ(pool.ask(1), std::nullopt);
  pool.say({{.duty = Duty::off}, {}, {.duty = Duty::draining}});
  const Instant later = pool.now() + Seconds{100};
  for (int i = 0; i < 50; ++i) {
    draw.next();
    EXPECT_EQ(decide_and_dispatch(request, pool.config(), &pool.table(), later, draw).host, 1U);
  }
}

TEST(Backups, ServeOnlyWhenNoOtherHostIsUsable) {
  Pool pool(hosts_of({"", "", "backup"}));
  EXPECT_EQ(shares(pool.ask_often(100, 0.5), 3)[2], 0);
  pool.fail(0);
  pool.ask(0.5);
  EXPECT_EQ(shares(pool.ask_often(100, 0.5), 3)[1], 100);
  pool.fail(1);
  pool.ask(0.5);
  EXPECT_EQ(shares(pool.ask_often(100, 0.5), 3)[2], 100);
  EXPECT_EQ(pool.last().choice.reason, Reason::backup);
  pool.heal();
  pool.ask(0.5);
  EXPECT_EQ(shares(pool.ask_often(100, 0.5), 3)[2], 0);
}

TEST(Backups, ServeBesideOthersWhileThoseAreFewerThanWanted) {
  Pool pool("backup-below = 2\n" + hosts_of({"", "", "backup"}));
  EXPECT_EQ(shares(pool.ask_often(100, 0.5), 3)[2], 0);
  pool.say({{.duty = Duty::draining}, {}, {}});
  expect_shares(shares(pool.ask_often(1000, 0.5), 3), {0, 50, 50}, 2);
  pool.say({{}, {}, {}});
  EXPECT_EQ(shares(pool.ask_often(100, 0.5), 3)[2], 0);
}

TEST(Backups, OfALargePoolAreCalledInByTheSameCount) {
  std::vector<std::string> options(50, "");
  for (std::size_t i = 0; i < 10; ++i) options[i] = "backup";
  Pool pool("backup-below = 12\n" + hosts_of(options));
  const std::vector<double> before = shares(pool.ask_often(1000, 0.1), 50);
  for (std::size_t i = 0; i < 10; ++i) EXPECT_EQ(before[i], 0);
  std::vector<ByHand> said(50);
  for (std::size_t i = 10; i < 39; ++i) said[i].duty = Duty::draining;  // 11 are left
  pool.say(said);
  const std::vector<double> after = shares(pool.ask_often(1000, 0.1), 50);
  for (std::size_t i = 0; i < 10; ++i) EXPECT_GT(after[i], 1);
}

TEST(Return, ARebootedHostWithNothingToDoIsNotStampeded) {
  Pool pool(hosts_of({"", "", ""}), 1);
  pool.ask_often(200, 0.06);
  pool.fail(1);
  pool.ask_often(100, 0.06);
  pool.heal();
  pool.reboot(1);
  // About 16 requests a second for 3 cores: each host is due a third, the returned one less at first.
  const std::vector<std::size_t> first = pool.ask_often(50, 0.06);
  EXPECT_LT(shares(first, 3)[1], 34);
  EXPECT_GT(shares(first, 3)[1], 2);
  EXPECT_LE(longest_run(first), 2);
  pool.ask_often(200, 0.06);
  expect_shares(shares(pool.ask_often(300, 0.06), 3), {33, 33, 33}, 3);
}

}  // namespace
}  // namespace balance
