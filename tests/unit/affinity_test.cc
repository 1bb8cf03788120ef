// SPDX-License-Identifier: MIT
// How a client is known again, and that it keeps its host.
#include "tests/unit/sticky_client.h"

namespace balance {
namespace {

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

TEST_F(StickyClient, WhoClaimsAClientFirstDecides) {
  const std::uint64_t client = 0xabcdef0123456789U;
  EXPECT_EQ(table_.claim_client(client, 1, std::nullopt, kNow, Seconds{60}), 1U);
  EXPECT_EQ(table_.claim_client(client, 2, std::nullopt, kNow, Seconds{60}), 1U);
  EXPECT_EQ(table_.claim_client(client, 2, 1, kNow, Seconds{60}), 2U);
  EXPECT_EQ(table_.claim_client(client, 0, 1, kNow, Seconds{60}), 2U);
  EXPECT_EQ(table_.claim_client(client, 0, std::nullopt, kNow + Seconds{60}, Seconds{60}), 0U);
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

TEST(ClientKeys, OfPagesAndStickyClientsNeverMeet) {
  for (const char* const text : {"192.0.2.7", "0.0.0.0", "::", "2001:db8::1"}) {
    const base::Address address = *base::parse_address(text);
    EXPECT_NE(client_key(address), sticky_key(address)) << text;
    EXPECT_TRUE(is_sticky_tag(static_cast<std::uint32_t>(sticky_key(address) >> 32)));
    EXPECT_FALSE(is_sticky_tag(static_cast<std::uint32_t>(client_key(address) >> 32)));
  }
}

}  // namespace
}  // namespace balance
