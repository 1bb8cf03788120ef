// SPDX-License-Identifier: MIT
// Clients that keep their host over all configurations that name the same hosts.
#include <unistd.h>

#include <fstream>
#include <optional>
#include <vector>

#include "tests/unit/sticky_client.h"

namespace balance {
namespace {

// Two configurations over the same hosts, each with a table of its own.
class Wild : public ::testing::Test {
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
    Table table = make_table(files.table, config);
    table.publish(PoolStanding{.beat = kNow, .started = Instant{Seconds{0}}});
    for (std::size_t i = 0; i < config.hosts.size(); ++i) table.publish(i, healthy(kNow));
    std::optional<Table> clients = *make_clients(files, config, "boot", {});
    return {std::move(config), std::move(files), std::move(table), std::move(clients)};
  }
  static std::string ask(Balancer& at, std::string_view address, Instant now = kNow) {
    Draw draw{1};
    const Decision decision = decide_and_dispatch(request_of(from(address), at.config), at.config,
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
  const std::optional<Bond> bond = bond_of(request_of(from("192.0.2.7"), more), more, nullptr, &*made, kNow);
  ASSERT_TRUE(bond);
  EXPECT_EQ(more.hosts[bond->host].name, "leopold");
  EXPECT_FALSE(bond_of(request_of(from("192.0.2.8"), more), more, nullptr, &*made, kNow));
}

}  // namespace
}  // namespace balance
