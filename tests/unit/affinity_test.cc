// SPDX-License-Identifier: MIT
#include "balance/table/affinity.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <fstream>

#include "balance/front/decide.h"
#include "tests/unit/requests.h"
#include "tests/unit/scratch_dir.h"

namespace balance {
namespace {

constexpr Instant kNow{Seconds{5000}};

const char* const kThreeHosts =
    "host = pinchot http://pinchot.example.org:8080\n"
    "host = leopold http://leopold.example.org:8080\n"
    "host = darwin http://darwin.example.org\n";

class StickyClient : public testing::Test {
 protected:
  explicit StickyClient(const std::string& lines = "sticky = client\n", const std::string& hosts = kThreeHosts)
      : config_(config_of(lines, hosts)),
        table_(*Table::create(folder_ / "test.table", TableShape{config_.fingerprint, config_.hosts.size(), "boot"})) {
    for (std::size_t host = 0; host < config_.hosts.size(); ++host) put(host, 10);
    beat(kNow);
  }
  void beat(Instant at) { table_.publish(PoolStanding{.beat = at, .started = Instant{Seconds{0}}}); }
  void put(std::size_t host, double requests, Instant at = kNow, Health health = Health::up,
           Duty duty = Duty::serving) {
    Standing standing;
    standing.health = health;
    standing.duty = duty;
    standing.reported = at;
    standing.cores = 4;
    table_.publish(host, standing);
    table_.set_prediction(host, Prediction{requests, at});
  }
  static RawRequest from(std::string_view address, std::string_view query = "mode=map") {
    RawRequest raw = get(query);
    raw.remote_addr = address;
    return raw;
  }
  Decision decided(const RawRequest& raw, Instant now = kNow) {
    return decide_and_dispatch(request_of(raw, config_), config_, &table_, now, draw_);
  }
  std::string ask(const RawRequest& raw, Instant now = kNow) {
    const Decision decision = decided(raw, now);
    return decision.host ? config_.hosts[*decision.host].name : "nobody";
  }

  ScratchDir folder_;
  Config config_;
  Table table_;
  Draw draw_{1};
};

TEST_F(StickyClient, AClientKeepsItsHostHoweverBusy) {
  put(1, 0);
  EXPECT_EQ(ask(from("192.0.2.7")), "leopold");
  put(1, 1000);
  for (int i = 0; i < 20; ++i) EXPECT_EQ(ask(from("192.0.2.7")), "leopold");
  EXPECT_NE(ask(from("192.0.2.8")), "leopold");
  EXPECT_EQ(decided(from("192.0.2.7")).choice.reason, Reason::sticky);
}

TEST_F(StickyClient, EveryRequestBeginsTheTimeAnew) {
  put(1, 0);
  ask(from("192.0.2.7"));
  Instant now = kNow;
  for (int i = 0; i < 5; ++i) {
    now += Seconds{59};
    beat(now);
    put(0, 0, now);
    put(1, 1000, now);
    EXPECT_EQ(ask(from("192.0.2.7"), now), "leopold") << i;
  }
  now += Seconds{60};
  beat(now);
  put(0, 0, now);
  put(1, 1000, now);
  EXPECT_EQ(ask(from("192.0.2.7"), now), "pinchot");
}

TEST_F(StickyClient, ADeadHostsClientMovesOnceAndStaysWhereItWent) {
  put(1, 0);
  ask(from("192.0.2.7"));
  put(1, 0, kNow, Health::down);
  put(2, 0);
  EXPECT_EQ(ask(from("192.0.2.7")), "darwin");
  put(1, 0);
  put(2, 1000);
  EXPECT_EQ(ask(from("192.0.2.7")), "darwin");
}

TEST_F(StickyClient, AnIpv6ClientIsItsNetworkOf64Bits) {
  put(1, 0);
  EXPECT_EQ(ask(from("2001:db8:1:2::7")), "leopold");
  put(1, 1000);
  EXPECT_EQ(ask(from("2001:db8:1:2:ffff::1")), "leopold");
  EXPECT_NE(ask(from("2001:db8:1:3::7")), "leopold");
}

TEST_F(StickyClient, AnIpv4ClientIsTheSameByBothFamilies) {
  put(1, 0);
  EXPECT_EQ(ask(from("192.0.2.7")), "leopold");
  put(1, 1000);
  EXPECT_EQ(ask(from("::ffff:192.0.2.7")), "leopold");
}

TEST_F(StickyClient, AClientWithoutAnAddressIsNobody) {
  put(1, 0);
  EXPECT_EQ(ask(from("")), "leopold");
  put(1, 1000);
  EXPECT_NE(ask(from("")), "leopold");
}

TEST_F(StickyClient, ADrainedHostKeepsItsClientsAndGetsNoOthers) {
  put(1, 0);
  ask(from("192.0.2.7"));
  put(1, 0, kNow, Health::up, Duty::draining);
  EXPECT_EQ(ask(from("192.0.2.7")), "leopold");
  EXPECT_NE(ask(from("192.0.2.8")), "leopold");
  const Instant later = kNow + Seconds{60};
  beat(later);
  for (const std::size_t host : {0U, 2U}) put(host, 10, later);
  put(1, 0, later, Health::up, Duty::draining);
  EXPECT_NE(ask(from("192.0.2.7"), later), "leopold");
}

TEST_F(StickyClient, ADrainEndsHoweverBusyTheClient) {
  put(1, 0);
  ask(from("192.0.2.7"));
  for (const double seconds : {30.0, 59.0, 60.0}) {
    const Instant later = kNow + Seconds{seconds};
    beat(later);
    for (const std::size_t host : {0U, 2U}) put(host, 10, later);
    put(1, 0, later, Health::up, Duty::draining);
    EXPECT_EQ(ask(from("192.0.2.7"), later) == "leopold", seconds < 60) << seconds;
  }
}

TEST_F(StickyClient, ADrainedHostThatIsAloneKeepsItsClients) {
  put(1, 0);
  ask(from("192.0.2.7"));
  put(0, 0, kNow, Health::down);
  put(1, 0, kNow, Health::up, Duty::draining);
  put(2, 0, kNow, Health::down);
  EXPECT_EQ(ask(from("192.0.2.7")), "leopold");
  EXPECT_EQ(ask(from("192.0.2.8")), "nobody");
}

TEST_F(StickyClient, AHostThatIsOffLosesItsClients) {
  put(1, 0);
  ask(from("192.0.2.7"));
  put(1, 0, kNow, Health::up, Duty::off);
  EXPECT_NE(ask(from("192.0.2.7")), "leopold");
}

TEST_F(StickyClient, ADrainedHostThatDiesLosesItsClients) {
  put(1, 0);
  ask(from("192.0.2.7"));
  put(1, 0, kNow, Health::down, Duty::draining);
  EXPECT_NE(ask(from("192.0.2.7")), "leopold");
}

TEST_F(StickyClient, ASilentHostLosesItsClientsToThoseThatSpeak) {
  put(1, 0);
  ask(from("192.0.2.7"));
  const Instant later = kNow + Seconds{3};
  beat(later);
  for (const std::size_t host : {0U, 2U}) put(host, 10, later);
  EXPECT_NE(ask(from("192.0.2.7"), later), "leopold");
}

TEST_F(StickyClient, AHostThatRelayedRequestsFailedOnLosesItsClients) {
  put(1, 0);
  ask(from("192.0.2.7"));
  table_.note_end(1, Relayed::no_connection, kNow);
  EXPECT_NE(ask(from("192.0.2.7")), "leopold");
}

TEST_F(StickyClient, AStickyDispatchIsCountedAsAny) {
  put(1, 0);
  ask(from("192.0.2.7"));
  ask(from("192.0.2.7"));
  EXPECT_EQ(table_.dispatches(1), 2U);
  EXPECT_GT(table_.live(1, kNow).prediction.requests, 1.5);
}

TEST_F(StickyClient, AFollowUpOnAPageStillGoesToThePagesHost) {
  put(1, 0);
  EXPECT_EQ(ask(from("192.0.2.7", "mode=browse")), "leopold");
  // The client moves while its page's files stay where they are.
  put(1, 0, kNow, Health::down);
  put(2, 0);
  EXPECT_EQ(ask(from("192.0.2.7")), "darwin");
  put(1, 1000);
  EXPECT_EQ(ask(from("192.0.2.7", "id=12345")), "leopold");
  EXPECT_EQ(ask(from("192.0.2.7")), "darwin");
}

TEST_F(StickyClient, EntriesOfPagesAreNoEntriesOfStickyClients) {
  table_.remember_client(client_key(*base::parse_address("192.0.2.7")), 1, kNow);
  put(1, 1000);
  EXPECT_NE(ask(from("192.0.2.7")), "leopold");
}

TEST_F(StickyClient, StatusCountsClientsByHost) {
  put(1, 0);
  for (int i = 1; i < 4; ++i) ask(from("192.0.2." + std::to_string(i)));
  ask(from("192.0.2.1", "mode=browse"));
  const std::vector<std::size_t> counts = sticky_clients(config_, table_, nullptr, kNow);
  EXPECT_EQ(counts[0] + counts[1] + counts[2], 3U);
  EXPECT_GE(counts[1], 1U);
  const std::vector<std::size_t> later = sticky_clients(config_, table_, nullptr, kNow + Seconds{60});
  EXPECT_EQ(later, (std::vector<std::size_t>{0, 0, 0}));
}

class TrustedProxy : public StickyClient {
 protected:
  TrustedProxy() : StickyClient("sticky = client\ntrusted-proxies = 10.0.0.0/8\n") {}
};
TEST_F(TrustedProxy, TheClientIsTheOneThatTheProxyNames) {
  put(1, 0);
  RawRequest raw = from("10.0.0.1");
  raw.x_forwarded_for = "192.0.2.7";
  EXPECT_EQ(ask(raw), "leopold");
  put(1, 1000);
  raw.remote_addr = "10.0.0.2";
  EXPECT_EQ(ask(raw), "leopold");
  raw.x_forwarded_for = "192.0.2.8";
  EXPECT_NE(ask(raw), "leopold");
}

class MoveWhenDrained : public StickyClient {
 protected:
  MoveWhenDrained() : StickyClient("sticky = client\ndrain-sticky = move\n") {}
};
TEST_F(MoveWhenDrained, ADrainedHostLosesItsClientsAtOnce) {
  put(1, 0);
  ask(from("192.0.2.7"));
  put(1, 0, kNow, Health::up, Duty::draining);
  EXPECT_NE(ask(from("192.0.2.7")), "leopold");
}

class WeightZero : public StickyClient {
 protected:
  WeightZero()
      : StickyClient("sticky = client\n",
                     "host = pinchot http://pinchot.example.org:8080 weight=0\n"
                     "host = leopold http://leopold.example.org:8080\n") {}
};
TEST_F(WeightZero, AHostWithoutAWeightKeepsItsClients) {
  table_.claim_client(sticky_key(*base::parse_address("192.0.2.7")), 0, std::nullopt, kNow, Seconds{60});
  EXPECT_EQ(ask(from("192.0.2.7")), "pinchot");
  EXPECT_EQ(ask(from("192.0.2.8")), "leopold");
}

class WithBackup : public StickyClient {
 protected:
  WithBackup()
      : StickyClient(
            "sticky = client\n",
            "host = pinchot http://pinchot.example.org:8080\nhost = darwin http://darwin.example.org backup\n") {}
};
TEST_F(WithBackup, ClientsOfABackupStayWhenTheOthersReturn) {
  put(0, 0, kNow, Health::down);
  EXPECT_EQ(ask(from("192.0.2.7")), "darwin");
  put(0, 0);
  EXPECT_EQ(ask(from("192.0.2.7")), "darwin");
  EXPECT_EQ(ask(from("192.0.2.8")), "pinchot");
}

class ByCookie : public StickyClient {
 protected:
  ByCookie() : StickyClient("sticky = cookie\n") {}
  static std::string cookie_of(const Decision& decision) {
    for (const auto& [name, value] : decision.reply.headers) {
      if (name == "Set-Cookie") return value.substr(0, value.find(';'));
    }
    return "";
  }
};
TEST_F(ByCookie, ARedirectSetsItAndItBringsTheClientBack) {
  put(1, 0);
  const std::string cookie = cookie_of(decided(from("192.0.2.7")));
  ASSERT_NE(cookie, "");
  put(1, 1000);
  RawRequest raw = from("192.0.2.99");
  raw.cookie = cookie;
  EXPECT_EQ(ask(raw), "leopold");
  EXPECT_EQ(cookie_of(decided(raw)), cookie);  // and lasts longer
  EXPECT_NE(ask(from("192.0.2.7")), "leopold");
}
TEST_F(ByCookie, ADeadHostsClientGetsAnother) {
  put(1, 0);
  RawRequest raw = from("192.0.2.7");
  const std::string cookie = cookie_of(decided(raw));
  put(1, 0, kNow, Health::down);
  put(2, 0);
  raw.cookie = cookie;
  const std::string other = cookie_of(decided(raw));
  EXPECT_NE(other, cookie);
  put(1, 0);
  put(2, 1000);
  raw.cookie = other;
  EXPECT_EQ(ask(raw), "darwin");
}
TEST_F(ByCookie, WithoutATableItCountsToo) {
  RawRequest raw = from("192.0.2.7");
  const std::string cookie = sticky_cookie(request_of(raw, config_), config_, 2);
  raw.cookie = cookie;
  for (int i = 0; i < 20; ++i) {
    draw_.next();
    EXPECT_EQ(decide_and_dispatch(request_of(raw, config_), config_, nullptr, kNow, draw_).host, 2U);
  }
}

TEST_F(StickyClient, WithoutATableAClientKeepsItsHostByItsHash) {
  const Decision first = decide_and_dispatch(request_of(from("192.0.2.7"), config_), config_, nullptr, kNow, draw_);
  EXPECT_EQ(first.choice.reason, Reason::hashed);
  EXPECT_EQ(first.choice.hosts.size(), 3U);
  for (int i = 0; i < 20; ++i) {
    draw_.next();
    EXPECT_EQ(decide_and_dispatch(request_of(from("192.0.2.7"), config_), config_, nullptr, kNow, draw_).host,
              first.host);
  }
}

std::string many_hosts(int count) {
  std::string hosts;
  for (int i = 0; i < count; ++i) {
    hosts += "host = h" + std::to_string(i) + " http://h" + std::to_string(i) + ".example.org\n";
  }
  return hosts;
}

class Peers : public StickyClient {
 protected:
  explicit Peers(int hosts = 5) : StickyClient("sticky = client\npeers = 2\n", many_hosts(hosts)) {}
  // Whose each client is, as a balancer that knows none of them has it.
  std::vector<std::string> all(const std::string& name) {
    Table other = *Table::create(folder_ / name, TableShape{config_.fingerprint, config_.hosts.size(), "boot"});
    other.publish(PoolStanding{.beat = kNow, .started = Instant{Seconds{0}}});
    for (std::size_t i = 0; i < config_.hosts.size(); ++i) {
      other.publish(i, *table_.standing(i));
      other.set_prediction(i, {1, kNow});
    }
    std::vector<std::string> hosts;
    for (int i = 0; i < 200; ++i) {
      const Request request = request_of(from("198.51.100." + std::to_string(i)), config_);
      Draw draw{static_cast<std::uint64_t>(i)};
      const Decision decision = decide_and_dispatch(request, config_, &other, kNow, draw);
      hosts.push_back(config_.hosts[*decision.host].name);
      // Its requests are long over when the next client comes.
      other.set_prediction(*decision.host, {1, kNow});
    }
    return hosts;
  }
};
TEST_F(Peers, BalancersThatDoNotTalkAgree) { EXPECT_EQ(all("one"), all("two")); }
TEST_F(Peers, AHostThatIsDownMovesOnlyItsOwnClients) {
  const std::vector<std::string> before = all("one");
  put(3, 1, kNow, Health::down);
  const std::vector<std::string> after = all("two");
  for (std::size_t i = 0; i < before.size(); ++i) {
    if (before[i] == "h3") {
      EXPECT_NE(after[i], "h3");
    } else {
      EXPECT_EQ(after[i], before[i]);
    }
  }
}
TEST_F(Peers, AHostWithFarTooMuchIsPassedOver) {
  for (std::size_t i = 0; i < 5; ++i) put(i, i == 3 ? 100 : 1);
  for (int i = 0; i < 50; ++i) {
    const Decision decision = decided(from("198.51.100." + std::to_string(i)));
    EXPECT_EQ(decision.choice.reason, Reason::hashed);
    EXPECT_NE(decision.host, 3U);
    table_.set_prediction(*decision.host, {1, kNow});
  }
}

class ManyPeers : public Peers {
 protected:
  ManyPeers() : Peers(100) {}
};
TEST_F(ManyPeers, TheyAgreeThoughALargePoolIsDrawnFrom) { EXPECT_EQ(all("one"), all("two")); }

// Two configurations over the same hosts, each with a table of its own.
class Wild : public testing::Test {
 protected:
  struct Balancer {
    Config config;
    StateFiles files;
    Table table;
    std::optional<Table> clients;
  };
  static Balancer balancer(const std::string& folder, const std::string& name, const std::string& hosts) {
    Config config = config_of("sticky = client-wild\n", hosts);
    StateFiles files = state_files(folder, name);
    Table table = *Table::create(files.table, TableShape{config.fingerprint, config.hosts.size(), "boot"});
    table.publish(PoolStanding{.beat = kNow, .started = Instant{Seconds{0}}});
    for (std::size_t i = 0; i < config.hosts.size(); ++i) {
      Standing standing;
      standing.health = Health::up;
      standing.reported = kNow;
      standing.cores = 4;
      table.publish(i, standing);
    }
    std::optional<Table> clients = *make_clients(files, config, "boot", {});
    return {std::move(config), std::move(files), std::move(table), std::move(clients)};
  }
  static std::string ask(Balancer& at, std::string_view address, Instant now = kNow) {
    RawRequest raw = get("mode=map");
    raw.remote_addr = address;
    Draw draw{1};
    const Decision decision = decide_and_dispatch(request_of(raw, at.config), at.config,
                                                  {&at.table, at.clients ? &*at.clients : nullptr}, now, draw);
    return decision.host ? at.config.hosts[*decision.host].name : "nobody";
  }
  // The named host has nothing to do, all others much.
  static void prefer(Balancer& at, const std::string& name) {
    for (std::size_t i = 0; i < at.config.hosts.size(); ++i) {
      at.table.set_prediction(i, {at.config.hosts[i].name == name ? 0.0 : 50.0, kNow});
    }
  }
  ScratchDir folder_;
};

const char* const kTurned =
    "host = darwin http://darwin.example.org:81\n"
    "host = pinchot http://pinchot.example.org:81\n"
    "host = leopold http://leopold.example.org:81\n";

TEST_F(Wild, AClientHasOneHostOverConfigurationsThatNameTheSame) {
  Balancer one = balancer(folder_ / ".", "one.conf", kThreeHosts);
  Balancer two = balancer(folder_ / ".", "two.conf", kTurned);
  prefer(one, "leopold");
  prefer(two, "darwin");
  EXPECT_EQ(ask(one, "192.0.2.7"), "leopold");
  EXPECT_EQ(ask(two, "192.0.2.7"), "leopold");
  EXPECT_EQ(ask(two, "192.0.2.8"), "darwin");
  EXPECT_EQ(ask(one, "192.0.2.8"), "darwin");
  EXPECT_EQ(sticky_clients(one.config, one.table, &*one.clients, kNow), (std::vector<std::size_t>{0, 1, 1}));
  EXPECT_EQ(sticky_clients(two.config, two.table, &*two.clients, kNow), (std::vector<std::size_t>{1, 0, 1}));
}

TEST_F(Wild, OtherHostsAreAnotherFile) {
  const Config two = config_of("sticky = client-wild\n", "host = pinchot http://pinchot.example.org\n");
  const Config three = config_of("sticky = client-wild\n", kThreeHosts);
  const StateFiles files = state_files("/run/balance", "balance.conf");
  EXPECT_NE(clients_file(files, two), clients_file(files, three));
  EXPECT_EQ(clients_file(files, two).substr(0, 13), "/run/balance/");
}

TEST_F(Wild, WithoutTheFileTheTableRemembers) {
  Balancer one = balancer(folder_ / ".", "one.conf", kThreeHosts);
  one.clients.reset();
  prefer(one, "leopold");
  EXPECT_EQ(ask(one, "192.0.2.7"), "leopold");
  prefer(one, "darwin");
  EXPECT_EQ(ask(one, "192.0.2.7"), "leopold");
}

TEST_F(Wild, ADamagedFileIsMadeAnew) {
  Balancer one = balancer(folder_ / ".", "one.conf", kThreeHosts);
  const std::string path = clients_file(one.files, one.config);
  one.clients.reset();
  for (const char* const text : {"", "x", "no table at all, and far too short for one"}) {
    std::ofstream(path, std::ios::trunc) << text;
    EXPECT_FALSE(open_clients(one.files, one.config, "boot")) << text;
    EXPECT_TRUE(make_clients(one.files, one.config, "boot", {})) << text;
    EXPECT_TRUE(open_clients(one.files, one.config, "boot")) << text;
  }
  EXPECT_FALSE(open_clients(one.files, one.config, "another boot"));
}

TEST_F(Wild, ATruncatedFileIsLostAndNotMissed) {
  Balancer one = balancer(folder_ / ".", "one.conf", kThreeHosts);
  prefer(one, "leopold");
  ASSERT_EQ(truncate(clients_file(one.files, one.config).c_str(), 0), 0);
  EXPECT_EQ(ask(one, "192.0.2.7"), "leopold");
  EXPECT_FALSE(one.clients->intact());
}

TEST_F(Wild, ClientsComeAlongWhenTheHostsChange) {
  Balancer one = balancer(folder_ / ".", "one.conf", kThreeHosts);
  prefer(one, "leopold");
  EXPECT_EQ(ask(one, "192.0.2.7"), "leopold");
  prefer(one, "darwin");
  EXPECT_EQ(ask(one, "192.0.2.8"), "darwin");
  const Config more = config_of("sticky = client-wild\n",
                                "host = audubon http://audubon.example.org\n"
                                "host = leopold http://leopold.example.org:8080\n"
                                "host = pinchot http://pinchot.example.org:8080\n");
  base::Result<Table> made = make_clients(one.files, more, "boot", {&one.config, &*one.clients});
  ASSERT_TRUE(made);
  RawRequest raw = get("mode=map");
  raw.remote_addr = "192.0.2.7";
  const std::optional<Bond> bond = bond_of(request_of(raw, more), more, nullptr, &*made, kNow);
  ASSERT_TRUE(bond);
  EXPECT_EQ(more.hosts[bond->host].name, "leopold");
  raw.remote_addr = "192.0.2.8";
  EXPECT_FALSE(bond_of(request_of(raw, more), more, nullptr, &*made, kNow));
}

TEST(ClientKeys, OfPagesAndStickyClientsNeverMeet) {
  for (const char* const text : {"192.0.2.7", "0.0.0.0", "::", "2001:db8::1"}) {
    const base::Address address = *base::parse_address(text);
    EXPECT_NE(client_key(address), sticky_key(address)) << text;
    EXPECT_TRUE(is_sticky_tag(static_cast<std::uint32_t>(sticky_key(address) >> 32)));
    EXPECT_FALSE(is_sticky_tag(static_cast<std::uint32_t>(client_key(address) >> 32)));
  }
}

TEST_F(StickyClient, WhoClaimsAClientFirstDecides) {
  const std::uint64_t client = 0xabcdef0123456789U;
  EXPECT_EQ(table_.claim_client(client, 1, std::nullopt, kNow, Seconds{60}), 1U);
  EXPECT_EQ(table_.claim_client(client, 2, std::nullopt, kNow, Seconds{60}), 1U);
  EXPECT_EQ(table_.claim_client(client, 2, 1, kNow, Seconds{60}), 2U);
  EXPECT_EQ(table_.claim_client(client, 0, 1, kNow, Seconds{60}), 2U);
  EXPECT_EQ(table_.claim_client(client, 0, std::nullopt, kNow + Seconds{60}, Seconds{60}), 0U);
}

}  // namespace
}  // namespace balance
