// SPDX-License-Identifier: MIT
// What a configuration says.
#include "balance/ground/config.h"

#include "tests/unit/files.h"
#include "tests/unit/requests.h"

namespace balance {
namespace {

HostConfig host_of(const std::string& line, const std::string& lines = "") {
  const Config config = config_of(lines, "host = " + line + "\n");
  return config.hosts.empty() ? HostConfig{} : config.hosts.front();
}

TEST(Config, ReadsAWholeExample) {
  const Config config = config_of(
      "mode = auto                            # auto | redirect | relay\n"
      "sticky = none\n"
      "peers = 1\n"
      "state-dir = /run/balance\n"
      "[probe]\n"
      "kind = loadprobe\n"
      "port = 9719\n"
      "interval = 250ms                       # node-exporter 2s, rstat 1s unless set\n"
      "timeout = 500ms\n"
      "expire = 4s\n"
      "[relay]\n"
      "connect-timeout = 2s\n"
      "response-timeout = 120s\n",
      "public-url = https://maps.example.org/cgi-bin/mapserv\n"
      "script = /cgi-bin/mapserv              # where mapserv is on every host\n"
      "host = pinchot http://pinchot.example.org:8080\n"
      "host = leopold http://leopold.example.org:8080 weight=2 inside=http://10.0.0.12:8080\n"
      "host = darwin  https://darwin.example.org probe=node-exporter:9100 backup\n"
      "host = capra   http://[2001:db8::7]:8080 probe=none\n"
      "host = audubon inside-only=http://10.0.0.15:8080      # never redirected to, always relayed\n");
  ASSERT_EQ(config.hosts.size(), 5U);
  EXPECT_EQ(to_text(*config.public_url), "https://maps.example.org/cgi-bin/mapserv");
  EXPECT_EQ(config.state_dir, "/run/balance");
  EXPECT_EQ(to_text(*config.hosts[0].public_url), "http://pinchot.example.org:8080");
  EXPECT_EQ(config.hosts[0].inside, *config.hosts[0].public_url);
  EXPECT_EQ(config.hosts[1].weight, 2);
  EXPECT_EQ(to_text(config.hosts[1].inside), "http://10.0.0.12:8080");
  EXPECT_EQ(config.hosts[2].probe, ProbeKind::node_exporter);
  EXPECT_EQ(config.hosts[2].probe_port, 9100);
  EXPECT_TRUE(config.hosts[2].backup);
  EXPECT_EQ(config.hosts[3].probe, ProbeKind::none);
  EXPECT_EQ(config.hosts[3].public_url->host, "2001:db8::7");
  EXPECT_FALSE(config.hosts[4].public_url);
  EXPECT_EQ(to_text(config.hosts[4].inside), "http://10.0.0.15:8080");
  EXPECT_TRUE(config.weights_count());
  EXPECT_EQ(config.probe.expire_of(ProbeKind::loadprobe), base::Seconds{4});
}

TEST(Config, OneHostLineIsEnoughAndTheRestIsDefault) {
  const Config config = config_of();
  EXPECT_EQ(config.file, "balance.conf");
  EXPECT_EQ(config.mode, Mode::automatic);
  EXPECT_EQ(config.script, "/cgi-bin/mapserv");
  EXPECT_FALSE(config.public_url);
  EXPECT_EQ(config.private_cookies, (std::vector<std::string>{"PHPSESSID", "JSESSIONID", "ASP.NET_SessionId"}));
  EXPECT_TRUE(config.artifact_prefixes.empty());
  EXPECT_TRUE(config.trusted_proxies.empty());
  EXPECT_FALSE(config.allow_downgrade);
  EXPECT_EQ(config.long_bytes, 3500U);
  EXPECT_FALSE(config.onlineresource_set);
  EXPECT_EQ(config.cors_origin, "*");
  EXPECT_TRUE(config.host_header);
  EXPECT_EQ(config.panic, 0.5);
  EXPECT_EQ(config.peers, 1U);
  EXPECT_EQ(config.state_dir, "");
  EXPECT_EQ(config.max_connections, 512U);
  EXPECT_FALSE(config.weights_count());
  const HostConfig& host = config.hosts.front();
  EXPECT_EQ(host.script, "/cgi-bin/mapserv");
  EXPECT_EQ(host.weight, 1);
  EXPECT_FALSE(host.cores);
  EXPECT_EQ(host.probe, ProbeKind::loadprobe);
  EXPECT_EQ(host.probe_port, 9719);
  EXPECT_FALSE(host.backup);
  EXPECT_EQ(config.longest_base, std::string("http://pinchot.example.org:8080/cgi-bin/mapserv").size());
}

TEST(Config, EachProbeKindHasItsTimes) {
  const ProbeConfig probe = config_of().probe;
  EXPECT_EQ(probe.interval_of(ProbeKind::loadprobe), base::Seconds{0.25});
  EXPECT_EQ(probe.interval_of(ProbeKind::node_exporter), base::Seconds{2});
  EXPECT_EQ(probe.interval_of(ProbeKind::rstat), base::Seconds{1});
  EXPECT_EQ(probe.expire_of(ProbeKind::loadprobe), base::Seconds{2});
  EXPECT_EQ(probe.expire_of(ProbeKind::node_exporter), base::Seconds{6});
  EXPECT_EQ(probe.expire_of(ProbeKind::rstat), base::Seconds{3});
  const ProbeConfig set = config_of("[probe]\ninterval = 5s\n").probe;
  EXPECT_EQ(set.interval_of(ProbeKind::rstat), base::Seconds{5});
  EXPECT_EQ(set.expire_of(ProbeKind::loadprobe), base::Seconds{15});
}

TEST(Config, EachProbeKindHasItsPort) {
  EXPECT_EQ(host_of("a http://a.example.org").probe_port, 9719);
  EXPECT_EQ(host_of("a http://a.example.org probe=node-exporter").probe_port, 9100);
  EXPECT_EQ(host_of("a http://a.example.org probe=rstat").probe_port, 0);
  EXPECT_EQ(host_of("a http://a.example.org probe=rstat:0").probe_port, 0);
  EXPECT_EQ(host_of("a http://a.example.org probe=loadprobe:1234").probe_port, 1234);
  EXPECT_EQ(host_of("a http://a.example.org", "[probe]\nport = 1234\n").probe_port, 1234);
  EXPECT_EQ(host_of("a http://a.example.org probe=loadprobe", "[probe]\nport = 1234\n").probe_port, 1234);
  EXPECT_EQ(host_of("a http://a.example.org probe=node-exporter", "[probe]\nport = 1234\n").probe_port, 9100);
  EXPECT_EQ(host_of("a http://a.example.org", "[probe]\nkind = rstat\n").probe, ProbeKind::rstat);
  EXPECT_EQ(host_of("a http://a.example.org", "[probe]\nkind = node-exporter\n").probe_port, 9100);
}

TEST(Config, TheScriptMayComeAfterTheHosts) {
  EXPECT_EQ(host_of("a http://a.example.org", "script = /maps/\n").script, "/maps");
  EXPECT_EQ(host_of("a http://a.example.org script=/own", "script = /maps\n").script, "/own");
  EXPECT_EQ(to_text(*config_of("script = /maps\npublic-url = http://m.example.org:8080\n").public_url),
            "http://m.example.org:8080/maps");
  EXPECT_EQ(to_text(*config_of("public-url = http://m.example.org/wms\n").public_url), "http://m.example.org/wms");
}

TEST(Config, TakesEveryKey) {
  const Config config = config_of(
      "mode = redirect\npanic = 0\npeers = 3\nmax-connections = 64\ntrusted-proxies = 10.0.0.0/8, ::1\n"
      "allow-downgrade = yes\nprivate-cookies = a b\nartifact-prefixes = /tmp /img\nlong-location = 8kB\n"
      "onlineresource = set\ncors-origin = none\nhost-header = no\nanswer.body = 307\nanswer.image = relay\n"
      "[probe]\nweb-interval = 2s\nweb-timeout = 3s\nweb-path = /cgi-bin/mapserv?map=A&mode=map\n"
      "[relay]\nconnect-timeout = 1s\nresponse-timeout = 1m\nstall-timeout = 5s\nmax-body = 1GB\n"
      "spool-dir = /srv/spool\nca-file = /etc/ca.pem\nverify = no\n");
  EXPECT_EQ(config.mode, Mode::redirect);
  EXPECT_EQ(config.panic, 0);
  EXPECT_EQ(config.peers, 3U);
  EXPECT_EQ(config.max_connections, 64U);
  EXPECT_EQ(config.trusted_proxies.size(), 2U);
  EXPECT_TRUE(config.allow_downgrade);
  EXPECT_EQ(config.private_cookies, (std::vector<std::string>{"a", "b"}));
  EXPECT_EQ(config.artifact_prefixes, (std::vector<std::string>{"/tmp", "/img"}));
  EXPECT_EQ(config.long_bytes, 8192U);
  EXPECT_TRUE(config.onlineresource_set);
  EXPECT_EQ(config.cors_origin, "");
  EXPECT_FALSE(config.host_header);
  EXPECT_EQ(config.answers[static_cast<std::size_t>(Class::body)], Answer::redirect_307);
  EXPECT_EQ(config.answers[static_cast<std::size_t>(Class::image)], Answer::relay);
  EXPECT_EQ(config.answers[static_cast<std::size_t>(Class::page)], Answer::by_default);
  EXPECT_EQ(config.probe.web_interval, base::Seconds{2});
  EXPECT_EQ(config.probe.web_timeout, base::Seconds{3});
  EXPECT_EQ(config.probe.web_path, "/cgi-bin/mapserv?map=A&mode=map");
  EXPECT_EQ(config.relay.connect_timeout, base::Seconds{1});
  EXPECT_EQ(config.relay.response_timeout, base::Seconds{60});
  EXPECT_EQ(config.relay.stall_timeout, base::Seconds{5});
  EXPECT_EQ(config.relay.max_body_bytes, std::uint64_t{1} << 30);
  EXPECT_EQ(config.relay.spool_dir, "/srv/spool");
  EXPECT_EQ(config.relay.ca_file, "/etc/ca.pem");
  EXPECT_FALSE(config.relay.verify);
}

TEST(Config, ChangesItsFingerprintWithItsText) {
  EXPECT_EQ(config_of().fingerprint, config_of().fingerprint);
  EXPECT_NE(config_of().fingerprint, config_of("peers = 2\n").fingerprint);
}

TEST(Config, ReadsAThousandHosts) {
  std::string hosts;
  for (int i = 0; i < 1000; ++i) {
    const std::string name = "node" + std::to_string(i);
    hosts.append("host = ").append(name).append(" http://").append(name).append(".example.org:8080 weight=2 cores=8\n");
  }
  const Config config = config_of("", hosts);
  EXPECT_EQ(config.hosts.size(), 1000U);
  EXPECT_EQ(config.hosts.back().name, "node999");
}

TEST(Config, WeightsCountWhereTheyDiffer) {
  const auto count = [](const char* first, const char* second) {
    return config_of("", "host = a http://a.example.org weight=" + std::string(first) +
                             "\nhost = b http://b.example.org weight=" + second + "\n")
        .weights_count();
  };
  EXPECT_FALSE(count("2", "2"));
  EXPECT_FALSE(count("2", "0"));
  EXPECT_FALSE(count("0", "0"));
  EXPECT_TRUE(count("1", "2"));
  EXPECT_TRUE(count("0.5", "1"));
}

TEST(Config, EveryTruncationIsAConfigurationOrAnError) {
  const std::string whole = text_of("etc/balance.conf") + kOneHost + "[probe]\nkind = rstat\n";
  for (std::size_t length = 0; length <= whole.size(); length += 7) {
    const base::Result<Config> config = parse_config(whole.substr(0, length), "balance.conf");
    EXPECT_TRUE(config || !config.error().what.empty()) << length;
  }
}

}  // namespace
}  // namespace balance
