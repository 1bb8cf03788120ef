// SPDX-License-Identifier: MIT
// What is no fault and hardly meant.
#include "balance/ground/config.h"
#include "tests/unit/requests.h"

namespace balance {
namespace {

std::string warnings_of(const std::string& lines, const std::string& hosts = kOneHost) {
  std::string all;
  for (const std::string& warning : warnings(config_of(lines, hosts))) all += (all.empty() ? "" : "\n") + warning;
  return all;
}

TEST(ConfigWarnings, AnOrdinaryConfigurationHasNone) {
  EXPECT_EQ(warnings_of(""), "");
  EXPECT_EQ(warnings_of("public-url = https://maps.example.org\nstate-dir = /run/balance\n",
                        "host = a https://a.example.org\n"),
            "");
}

TEST(ConfigWarnings, NameWhatIsHardlyMeant) {
  EXPECT_EQ(warnings_of("", "host = a http://a.example.org backup\n"),
            "every host is a backup: backups are for the time when no other host is usable");
  EXPECT_EQ(warnings_of("", "host = a http://a.example.org weight=0\n"),
            "every host has weight 0: all are drained, none gets a request");
  EXPECT_EQ(warnings_of("backup-below = 2\n", "host = a http://a.example.org\n"),
            "backup-below is 2, but no host is a backup");
  EXPECT_EQ(warnings_of("[probe]\nkind = none\n"),
            "no host is probed: requests are spread by weight alone, whatever the load");
  EXPECT_EQ(warnings_of("", "host = a inside-only=http://10.0.0.1\n"),
            "every host is inside-only: each request needs relaying");
  EXPECT_EQ(warnings_of("mode = redirect\n", std::string(kOneHost) + "host = b inside-only=http://10.0.0.1\n"),
            "mode = redirect never uses hosts that are inside-only: b");
  EXPECT_EQ(warnings_of("public-url = https://maps.example.org\n"),
            "public-url is https but these hosts have http URLs, to which no client is redirected: pinchot; their "
            "requests are relayed unless allow-downgrade = yes");
  EXPECT_EQ(warnings_of("mode = redirect\npublic-url = https://maps.example.org\n"),
            "public-url is https but these hosts have http URLs, to which no client is redirected: pinchot; they get "
            "no request unless allow-downgrade = yes");
  EXPECT_EQ(warnings_of("public-url = http://maps.example.org/maps\n"),
            "mapserv is under another path than public-url on these hosts, and they write theirs into relayed "
            "documents, unless their mapfiles have *_onlineresource and onlineresource = set: pinchot");
  EXPECT_EQ(warnings_of("public-url = https://maps.example.org\nallow-downgrade = yes\n"), "");
  EXPECT_EQ(warnings_of("", "host = a http://192.168.1.7\nhost = b http://localhost:81\nhost = c http://[fd00::1]\n"),
            "clients are sent to private or local addresses, which they may not reach: a, b, c");
  EXPECT_EQ(
      warnings_of("[probe]\ninterval = 100ms\n"),
      "probe.timeout is 500ms, longer than the interval of loadprobe, 100ms: a slow report delays the next probe");
  EXPECT_EQ(warnings_of("[probe]\ntimeout = 10s\n"),
            "probe.timeout is 10s, longer than the interval of loadprobe, 250ms: a slow report delays the next probe");
  EXPECT_EQ(
      warnings_of("state-dir = /tmp/x\n"),
      "state-dir is /tmp/x; wanted a folder elsewhere, such as /run/balance: what is in /tmp anybody may make first");
  EXPECT_EQ(warnings_of("",
                        "host = a http://a.example.org inside=http://10.0.0.1\nhost = b http://b.example.org "
                        "inside=http://10.0.0.1\n"),
            "host b is reached from inside at the address of host a: their reports tell of one machine");
  for (const char* range : {"0.0.0.0/0", "::/0", "10.0.0.1 0.0.0.0/0"}) {
    EXPECT_EQ(warnings_of("trusted-proxies = " + std::string(range) + "\n"),
              "trusted-proxies contains every address: any client can say that it came by https, or from elsewhere")
        << range;
  }
  EXPECT_EQ(warnings_of("trusted-proxies = 10.0.0.0/8 ::1\n"), "");
}

TEST(ConfigWarnings, ListAFewNamesOfMany) {
  std::string hosts;
  for (int i = 0; i < 9; ++i) hosts += "host = h" + std::to_string(i) + " http://10.0.0." + std::to_string(i) + "\n";
  EXPECT_EQ(warnings_of("", hosts),
            "clients are sent to private or local addresses, which they may not reach: h0, h1, h2, h3, h4 and 4 more");
}

}  // namespace
}  // namespace balance
