// SPDX-License-Identifier: MIT
// Balancers that share no table and send a client to the same host.
#include <vector>

#include "tests/unit/sticky_client.h"

namespace balance {
namespace {

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
    Table other = make_table(folder_ / name, config_);
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

}  // namespace
}  // namespace balance
