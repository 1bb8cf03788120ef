// SPDX-License-Identifier: MIT
#include "balance/ground/sticky.h"

#include <gtest/gtest.h>

#include "balance/ground/relay_request.h"
#include "balance/ground/relay_response.h"
#include "loadprobe/base/text.h"
#include "tests/unit/requests.h"

namespace balance {
namespace {

const char* const kHosts =
    "host = pinchot http://pinchot.example.org:8080\n"
    "host = Leopold http://leopold.example.org:8080\n";

// The value of the cookie that keeps a client with the host.
std::string token(const Config& config, std::size_t host) {
  const std::string cookie = sticky_cookie(request_of(get("mode=map"), config), config, host);
  const std::size_t begin = cookie.find('=') + 1;
  return cookie.substr(begin, cookie.find(';') - begin);
}

std::optional<std::size_t> named(const std::string& header, const Config& config) {
  RawRequest raw = get("mode=map");
  raw.cookie = header;
  return request_of(raw, config).cookie_host;
}

TEST(StickyKeys, HaveTheirDefaults) {
  const Config config = config_of();
  EXPECT_EQ(config.sticky.kind, Sticky::none);
  EXPECT_EQ(config.sticky.timeout, base::Seconds{60});
  EXPECT_EQ(config.drain_sticky, DrainSticky::keep);
  EXPECT_FALSE(config.local);
}

TEST(StickyKeys, AreRead) {
  const Config config =
      config_of("sticky = client-wild\nsticky-timeout = 5m\ndrain-sticky = move\nsticky-key = 0123456789abcdef\n");
  EXPECT_EQ(config.sticky.kind, Sticky::client_wild);
  EXPECT_EQ(config.sticky.timeout, base::Seconds{300});
  EXPECT_EQ(config.drain_sticky, DrainSticky::move);
  EXPECT_EQ(config.sticky.key, "0123456789abcdef");
}

TEST(StickyKeys, SayWhatIsWrongAndKeepTheSecret) {
  EXPECT_EQ(fault_of("sticky = clients"),
            "sticky is 'clients'; wanted none, client, client-wild or "
            "cookie; the nearest is 'client'");
  EXPECT_EQ(fault_of("sticky-timeout = 0s"), "sticky-timeout is '0s'; wanted 1s to 1d");
  EXPECT_EQ(fault_of("drain-sticky = yes"), "drain-sticky is 'yes'; wanted keep or move");
  EXPECT_EQ(fault_of("sticky-key = xyzzy"), "sticky-key has 5 bytes; wanted 16 to 200");
}

TEST(StickyKeys, ThatAreOfNoUseAreWarnedOf) {
  const auto warned = [](const std::string& lines) { return warnings(config_of(lines)); };
  EXPECT_EQ(warned("sticky = cookie\nlocal = pinchot /cgi-bin/mapserv.real\n"),
            (std::vector<std::string>{"local is not used with sticky = cookie: a local redirect cannot set one"}));
  EXPECT_EQ(warned("sticky = client\nsticky-key = 0123456789abcdef\n"),
            (std::vector<std::string>{"sticky-key is of use with sticky = cookie alone"}));
  EXPECT_EQ(warned("sticky = cookie\nsticky-key = 0123456789abcdef\npeers = 2\n"), std::vector<std::string>());
  EXPECT_EQ(warned("sticky = cookie\n"), std::vector<std::string>());
  EXPECT_EQ(warned("sticky = client\npeers = 2\n"), std::vector<std::string>());
  EXPECT_EQ(warned("sticky = cookie\npeers = 2\n"),
            (std::vector<std::string>{"sticky = cookie has no sticky-key, but there are 2 balancers (peers): they take "
                                      "each other's cookies only while none of them has a key, and whoever knows the "
                                      "names of the hosts can make one up; wanted the same key at all of them"}));
}

TEST(StickyNames, AreTheSameSetInAnyOrderAndCase) {
  const Config one = config_of("sticky = client-wild\n", "host = a http://a.example\nhost = b http://b.example\n");
  const Config two = config_of("sticky = client-wild\nscript = /other\n",
                               "host = B http://b.example:81\nhost = A https://a.example\n");
  const Config other = config_of("sticky = client-wild\n", "host = a http://a.example\nhost = c http://b.example\n");
  EXPECT_EQ(one.sticky.names, two.sticky.names);
  EXPECT_NE(one.sticky.names, other.sticky.names);
  EXPECT_EQ(one.sticky.places, (std::vector<std::size_t>{0, 1}));
  EXPECT_EQ(two.sticky.places, (std::vector<std::size_t>{1, 0}));
  EXPECT_EQ(two.sticky.by_name, (std::vector<std::size_t>{1, 0}));
}

TEST(StickyCookie, NamesItsHostToEveryBalancerThatHasIt) {
  const Config here = config_of("sticky = cookie\n", kHosts);
  const Config there = config_of("sticky = cookie\nmode = relay\n",
                                 "host = darwin http://darwin.example.org\n"
                                 "host = leopold http://10.0.0.12\nhost = pinchot http://10.0.0.11\n");
  EXPECT_EQ(named("BALANCE_HOST=" + token(here, 0), there), 2U);
  EXPECT_EQ(named("BALANCE_HOST=" + token(here, 1), there), 1U);
  EXPECT_EQ(named("BALANCE_HOST=" + token(there, 0), here), std::nullopt);
}

TEST(StickyCookie, DoesNotShowTheName) {
  const Config config = config_of("sticky = cookie\n", kHosts);
  EXPECT_EQ(token(config, 0).size(), 16U);
  EXPECT_EQ(token(config, 0).find_first_not_of("0123456789abcdef"), std::string::npos);
}

TEST(StickyCookie, IsAnotherWithAnotherKey) {
  const Config plain = config_of("sticky = cookie\n", kHosts);
  const Config keyed = config_of("sticky = cookie\nsticky-key = correct horse battery\n", kHosts);
  EXPECT_NE(token(plain, 0), token(keyed, 0));
  EXPECT_EQ(named("BALANCE_HOST=" + token(plain, 0), keyed), std::nullopt);
}

TEST(StickyCookie, DamagedOrForgedIsNone) {
  const Config config = config_of("sticky = cookie\n", kHosts);
  const std::string good = token(config, 0);
  EXPECT_EQ(named("BALANCE_HOST=" + good, config), 0U);
  for (std::size_t i = 0; i < good.size(); ++i) {
    std::string bad = good;
    bad[i] = bad[i] == '0' ? '1' : '0';
    EXPECT_EQ(named("BALANCE_HOST=" + bad, config), std::nullopt) << bad;
    EXPECT_EQ(named("BALANCE_HOST=" + good.substr(0, i), config), std::nullopt) << i;
  }
  for (const std::string bad : {"", "pinchot", "0", "BALANCE_HOST", "=", "%", "\xff\xfe"}) {
    EXPECT_EQ(named("BALANCE_HOST=" + bad, config), std::nullopt) << bad;
    EXPECT_EQ(named(bad, config), std::nullopt) << bad;
  }
  EXPECT_EQ(named("BALANCE_HOST=" + good + "0", config), std::nullopt);
  EXPECT_EQ(named("XBALANCE_HOST=" + good, config), std::nullopt);
  EXPECT_EQ(named("balance_host=" + good, config), std::nullopt);
}

TEST(StickyCookie, StandsAmongOthersAndTheFirstGoodOneCounts) {
  const Config config = config_of("sticky = cookie\n", kHosts);
  EXPECT_EQ(named("a=b; BALANCE_HOST=" + token(config, 1) + ";c=d", config), 1U);
  EXPECT_EQ(named("BALANCE_HOST=old;BALANCE_HOST=" + token(config, 1) + "; BALANCE_HOST=" + token(config, 0), config),
            1U);
}

TEST(StickyCookie, CountsOnlyWhereItIsConfigured) {
  const Config cookie = config_of("sticky = cookie\n", kHosts);
  EXPECT_EQ(named("BALANCE_HOST=" + token(cookie, 0), config_of("", kHosts)), std::nullopt);
  EXPECT_EQ(named("BALANCE_HOST=" + token(cookie, 0), config_of("sticky = client\n", kHosts)), std::nullopt);
}

TEST(StickyCookie, OnHttpIsLaxAndOnHttpsForOtherSitesPagesToo) {
  const Config config = config_of("sticky = cookie\nsticky-timeout = 90s\n", kHosts);
  RawRequest raw = get("mode=map");
  EXPECT_EQ(sticky_cookie(request_of(raw, config), config, 0),
            "BALANCE_HOST=" + token(config, 0) + "; Max-Age=90; Path=/cgi-bin/mapserv; HttpOnly; SameSite=Lax");
  raw.https = "on";
  EXPECT_EQ(
      sticky_cookie(request_of(raw, config), config, 0),
      "BALANCE_HOST=" + token(config, 0) + "; Max-Age=90; Path=/cgi-bin/mapserv; HttpOnly; Secure; SameSite=None");
}

TEST(StickyCookie, HasThePathOfPublicUrl) {
  const Config config = config_of("sticky = cookie\npublic-url = https://maps.example.org/ows/maps\n", kHosts);
  EXPECT_EQ(sticky_cookie(request_of(get("mode=map"), config), config, 0),
            "BALANCE_HOST=" + token(config, 0) + "; Max-Age=60; Path=/ows/maps; HttpOnly; Secure; SameSite=None");
}

TEST(StickyCookie, APathThatMayNotStandThereIsTheWholeSite) {
  const Config config = config_of("sticky = cookie\n", kHosts);
  RawRequest raw = get("mode=map");
  raw.script_name = "/a; Domain=example.org";
  EXPECT_EQ(sticky_cookie(request_of(raw, config), config, 0),
            "BALANCE_HOST=" + token(config, 0) + "; Max-Age=60; Path=/; HttpOnly; SameSite=Lax");
}

TEST(StickyCookie, IsForNoSharedCache) {
  const Config config = config_of("sticky = cookie\n", kHosts);
  const Request request = request_of(get("mode=map"), config);
  const auto control = [&](Reply reply) {
    keep_by_cookie(reply, request, config, 0);
    EXPECT_EQ(reply.headers.back().first, "Set-Cookie");
    std::string all;
    for (const auto& [name, value] : reply.headers) {
      if (base::same_ignoring_case(name, "cache-control")) all += value + "|";
    }
    return all;
  };
  const auto with = [](const std::string& value) {
    Reply reply;
    reply.headers.emplace_back("cache-control", value);
    return reply;
  };
  EXPECT_EQ(control(Reply{}), "private|");
  EXPECT_EQ(control(with("max-age=600")), "max-age=600, private|");
  EXPECT_EQ(control(with("no-store")), "no-store|");
  EXPECT_EQ(control(with("private, max-age=1")), "private, max-age=1|");
}

TEST(StickyCookie, NeverReachesAHostNorComesFromOne) {
  const Config config = config_of("sticky = cookie\n", kHosts);
  RawRequest raw = get("mode=map");
  const std::string cookies = "a=b; BALANCE_HOST=" + token(config, 0) + "; c=d";
  raw.cookie = cookies;
  raw.headers.push_back({"COOKIE", raw.cookie});
  for (const auto& [name, value] : relay_request(raw, request_of(raw, config), config.hosts[0], config).headers) {
    EXPECT_EQ(value.find("BALANCE_HOST"), std::string::npos) << name << value;
    if (name == "Cookie") {
      EXPECT_EQ(value, "a=b; c=d");
    }
  }
  HostHead head;
  head.status = 200;
  head.headers = {{"Set-Cookie", "BALANCE_HOST=0123; Path=/"}, {"set-cookie", "other=1"}};
  const Reply reply = relay_reply(head, config.hosts[0], config);
  ASSERT_FALSE(reply.headers.empty());
  EXPECT_EQ(reply.headers[0], (std::pair<std::string, std::string>("set-cookie", "other=1")));
}

}  // namespace
}  // namespace balance
