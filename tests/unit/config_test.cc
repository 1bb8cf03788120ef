// SPDX-License-Identifier: MIT
#include "balance/ground/config.h"

#include <fstream>
#include <sstream>

#include "tests/unit/requests.h"

namespace balance {
namespace {

constexpr const char* kHost = "host = pinchot http://pinchot.example.org:8080\n";

std::string text_of(const std::string& path) {
  const std::ifstream file(path);
  std::ostringstream text;
  text << file.rdbuf();
  return text.str();
}

// The fault that one line behind a good host line has, without the place.
std::string fault_of(const std::string& line) {
  const std::string what = faults_of(kHost + line + "\n");
  const std::size_t place = what.find(": ");
  return what.empty() ? "" : what.substr(place + 2);
}

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

TEST(Config, ListsEveryFaultAtOnceInTheOrderOfTheFile) {
  EXPECT_EQ(
      faults_of("# a comment\n"
                "mode = atuo\n"
                "host = pinchot http://pinchot.example.org:70000 wieght=2\n"
                "this is nothing\n"
                "\n"
                "wieght = 3\n"
                "[probe]\n"
                "interval = 250\n"
                "expire = 300ms\n"),
      "balance.conf:2: mode is 'atuo'; wanted auto, redirect or relay; the nearest is 'auto'\n"
      "balance.conf:3: host pinchot: 'http://pinchot.example.org:70000': port is '70000'; wanted 1 to 65535\n"
      "balance.conf:3: host pinchot: unknown option 'wieght=2'; the nearest is 'weight'\n"
      "balance.conf:4: found 'this is nothing'; wanted 'key = value' or '[section]'\n"
      "balance.conf:6: unknown key 'wieght'\n"
      "balance.conf:8: probe.interval: '250' is no duration; wanted a number and ms, s, m, h or d, as in '250ms'");
}

TEST(Config, TellsOfBlanksAroundTheEqualsSignOfAnOptionOnce) {
  const auto option = [](const std::string& text) { return fault_of("host = a http://a.example.org " + text); };
  EXPECT_EQ(option("weight = 2"), "host a: found 'weight = 2'; wanted 'weight=2', without blanks");
  EXPECT_EQ(option("weight =2 backup"), "host a: found 'weight =2'; wanted 'weight=2', without blanks");
  EXPECT_EQ(option("weight= 2"), "host a: found 'weight= 2'; wanted 'weight=2', without blanks");
  EXPECT_EQ(option("weight ="), "host a: found 'weight ='; wanted 'weight=', without blanks");
  EXPECT_EQ(option("weight= backup"), "host a: weight is ''; wanted 0 to 1000");
  EXPECT_EQ(option("backup = yes").substr(0, 26), "host a: unknown option '='");
  EXPECT_EQ(fault_of("host = a inside-only = http://10.0.0.1"),
            "host a: found 'inside-only = http://10.0.0.1'; wanted 'inside-only=http://10.0.0.1', without blanks");
}

TEST(Config, SaysWhereAnOptionOfAHostBelongsAndWhichClassesHaveAnswers) {
  EXPECT_EQ(faults_of("host = a http://a.example.org\nweight = 2\n"),
            "balance.conf:2: unknown key 'weight': it belongs on the line of a host, behind the URL");
  EXPECT_EQ(faults_of("host = a http://a.example.org\nanswer.pictures = relay\n"),
            "balance.conf:2: unknown key 'answer.pictures'; wanted answer.body, answer.artifact, answer.private, "
            "answer.document, answer.long, answer.cors, answer.image, answer.data, answer.page");
}

TEST(Config, AsksForAHost) {
  EXPECT_EQ(faults_of(""), "balance.conf: found no host; wanted at least one line 'host = NAME URL'");
  EXPECT_EQ(faults_of("mode = x\n"),
            "balance.conf:1: mode is 'x'; wanted auto, redirect or relay\n"
            "balance.conf: found no host; wanted at least one line 'host = NAME URL'");
}

TEST(Config, NamesDoubleHosts) {
  EXPECT_EQ(faults_of("host = darwin http://a.example.org\nhost = Darwin http://b.example.org\n"),
            "balance.conf:2: host Darwin: there is a host darwin already; wanted another name");
  EXPECT_EQ(faults_of("host = a http://h.example.org\nhost = b http://H.example.org:80 script=/cgi-bin/map%73erv\n"),
            "balance.conf:2: host b: URL and script are those of host a; wanted one line a host");
  EXPECT_NE(faults_of("host = a inside-only=http://10.0.0.1\nhost = b inside-only=http://10.0.0.1:80\n"), "");
  EXPECT_NE(faults_of("host = a http://h.example.org\nhost = b http://h.example.org.\n"), "");
  EXPECT_EQ(faults_of("host = a http://h.example.org\nhost = b http://h.example.org script=/2\n"), "");
  EXPECT_EQ(faults_of("host = a http://h.example.org\nhost = b https://h.example.org\n"), "");
}

TEST(Config, NamesHostsThatAreTheBalancer) {
  const std::string fault =
      "URL and script are those of public-url, which is a loop; wanted another address, or another script where "
      "mapserv "
      "itself is";
  EXPECT_EQ(faults_of("host = a http://maps.example.org:80\npublic-url = http://Maps.example.org/cgi-bin/mapserv\n"),
            "balance.conf:1: host a: " + fault);
  EXPECT_EQ(faults_of("public-url = http://maps.example.org\nhost = a http://maps.example.org\n"),
            "balance.conf:2: host a: " + fault);
  EXPECT_EQ(
      faults_of("public-url = http://maps.example.org\nhost = a http://a.example.org inside=http://maps.example.org\n"),
      "balance.conf:2: host a: " + fault);
  EXPECT_EQ(faults_of("public-url = http://maps.example.org\nhost = a inside-only=http://maps.example.org\n"),
            "balance.conf:2: host a: " + fault);
  EXPECT_EQ(
      faults_of(
          "public-url = http://maps.example.org\nhost = a http://maps.example.org script=/cgi-bin/mapserv.real\n"),
      "");
  EXPECT_EQ(faults_of("public-url = http://maps.example.org\nhost = a http://maps.example.org:8080\n"), "");
  EXPECT_EQ(faults_of("public-url = https://maps.example.org\nhost = a http://maps.example.org\n"), "");
}

TEST(Config, SaysWhatAHostLineLacks) {
  EXPECT_EQ(fault_of("host ="), "host: the name is ''; wanted at most 63 letters, digits, '.', '-' and '_'");
  EXPECT_EQ(fault_of("host = http://a.example.org"),
            "host: the name is 'http://a.example.org'; wanted at most 63 letters, digits, '.', '-' and '_'");
  EXPECT_EQ(fault_of("host = a"), "host a: found no URL; wanted one such as http://a.example.org:8080");
  EXPECT_EQ(fault_of("host = a weight=2"), "host a: found no URL; wanted one such as http://a.example.org:8080");
  EXPECT_EQ(fault_of("host = a a.example.org:8080"),
            "host a: 'a.example.org:8080': found no scheme; wanted http:// or https://");
  EXPECT_EQ(fault_of("host = a http://a.example.org/cgi-bin/mapserv"),
            "host a: the URL is 'http://a.example.org/cgi-bin/mapserv'; wanted no path: the path of mapserv is given "
            "by script=");
  EXPECT_EQ(fault_of("host = a http://a.example.org inside=http://b.example.org/x"),
            "host a: inside is 'http://b.example.org/x'; wanted no path: the path of mapserv is given by script=");
  EXPECT_EQ(fault_of("host = a http://a.example.org inside-only=http://10.0.0.1"),
            "host a: inside-only stands beside another URL; wanted it alone, or inside= for a host that has both");
  EXPECT_NE(fault_of("host = a inside-only=http://10.0.0.1 inside=http://10.0.0.2"), "");
  EXPECT_NE(fault_of("host = a inside=http://10.0.0.2"), "");
  EXPECT_EQ(fault_of("host = a http://[fe80::1%eth0]"),
            "host a: 'http://[fe80::1%eth0]': host is '[fe80::1%eth0]'; wanted no zone id: it means nothing to other "
            "machines");
  EXPECT_NE(fault_of("host = " + std::string(64, 'a') + " http://a.example.org"), "");
  EXPECT_EQ(fault_of("host = a http://a.example.org/"), "");
}

TEST(Config, SaysWhatIsWrongWithAnOption) {
  const auto option = [](const std::string& text) { return fault_of("host = a http://a.example.org " + text); };
  EXPECT_EQ(option("weight=-1"), "host a: weight is '-1'; wanted 0 to 1000");
  EXPECT_EQ(option("cores=0"), "host a: cores is '0'; wanted more than 0, at most 4096");
  EXPECT_EQ(
      option("probe=loadprob"),
      "host a: probe is 'loadprob'; wanted loadprobe, node-exporter, rstat or none, and :PORT if it is not the usual "
      "one; the nearest is 'loadprobe'");
  EXPECT_EQ(option("probe=none:1"), "host a: probe is 'none:1'; wanted no port: nothing is asked");
  EXPECT_EQ(option("probe=loadprobe:0"), "host a: probe is 'loadprobe:0'; wanted a port from 1 to 65535");
  EXPECT_EQ(option("script=cgi"), "host a: script: path is 'cgi'; wanted one that begins with '/'");
  EXPECT_EQ(option("weight=1 weight=2"), "host a: weight is given again; wanted it once");
  EXPECT_EQ(option("backup backup"), "host a: backup is given again; wanted it once");
  EXPECT_EQ(option("backup=yes"), "host a: found 'backup=yes'; wanted 'backup' alone");
  EXPECT_EQ(option("weight"), "host a: found 'weight'; wanted 'weight=...'");
  EXPECT_EQ(option("bakcup"), "host a: unknown option 'bakcup'; the nearest is 'backup'");
  for (const char* bad : {"weight=",    "weight=1001", "weight=nan",        "weight=inf",   "weight=1e9",
                          "weight=0x1", "weight=+1",   "weight= 1",         "cores=-1",     "cores=5000",
                          "cores=",     "probe=",      "probe=rstat:65536", "probe=rstat:", "probe=loadprobe:x",
                          "script=",    "script=/a?b", "script=/../x",      "weight",       "http://b.example.org",
                          "inside="}) {
    EXPECT_NE(option(bad), "") << bad;
  }
  for (const char* good :
       {"weight=0", "weight=0.5", "weight=1000", "cores=0.5", "cores=4096", "probe=rstat", "script=/"}) {
    EXPECT_EQ(option(good), "") << good;
  }
}

TEST(Config, SaysWhatIsWrongWithAValue) {
  EXPECT_EQ(fault_of("sticky = x"), "sticky is 'x'; wanted none, client, client-wild or cookie");
  EXPECT_EQ(fault_of("panic = 0.5"), "panic is '0.5'; wanted a percentage such as 50%, or 0");
  EXPECT_EQ(fault_of("peers = 0"), "peers is '0'; wanted 1 to 64");
  EXPECT_EQ(fault_of("max-connections = 1000000"), "max-connections is '1000000'; wanted 1 to 10000");
  EXPECT_EQ(fault_of("state-dir = run"), "state-dir is 'run'; wanted an absolute path");
  EXPECT_EQ(fault_of("keep-dir = kept"), "keep-dir is 'kept'; wanted an absolute path");
  EXPECT_EQ(fault_of("drain-sticky = stay"), "drain-sticky is 'stay'; wanted keep or move");
  EXPECT_EQ(fault_of("drain-wait = 2h"), "drain-wait is '2h'; wanted 0s to 1h");
  EXPECT_EQ(fault_of("backup-below = 0"), "backup-below is '0'; wanted 1 to 32");
  EXPECT_EQ(fault_of("backup-below = 33"), "backup-below is '33'; wanted 1 to 32");
  EXPECT_EQ(fault_of("answer.body = redirect"),
            "answer.body is 'redirect'; wanted 307, relay or accel: a 302 would lose the body");
  EXPECT_EQ(fault_of("answer.image = 302"), "answer.image is '302'; wanted redirect, 307, relay or accel");
  EXPECT_EQ(fault_of("answer.options = relay"),
            "answer.options is not for choice: OPTIONS is always answered by the balancer");
  EXPECT_EQ(fault_of("answer.imgae = relay"), "unknown key 'answer.imgae'; the nearest known one is 'answer.image'");
  EXPECT_EQ(fault_of("allow-downgrade = true"), "allow-downgrade is 'true'; wanted yes or no");
  EXPECT_EQ(fault_of("onlineresource = yes"), "onlineresource is 'yes'; wanted set or unset");
  EXPECT_EQ(fault_of("long-location = 10"), "long-location is '10'; wanted 200 to 64kB");
  EXPECT_EQ(fault_of("cors-origin = https://a.example.org/"),
            "cors-origin is 'https://a.example.org/'; wanted *, none or one origin such as https://gis.example.org");
  EXPECT_EQ(fault_of("artifact-prefixes = /"),
            "artifact-prefixes is '/'; wanted a folder below it: every request would be under this");
  EXPECT_EQ(fault_of("artifact-prefixes = /tmp /cgi-bin"),
            "artifact-prefixes is '/cgi-bin'; wanted a folder of pictures: the balancer itself is below it");
  EXPECT_EQ(fault_of("public-url = maps.example.org"),
            "public-url: 'maps.example.org': found no scheme; wanted http:// or https://");
  EXPECT_EQ(fault_of("[probe]\nport = 0"),
            "probe.port is '0'; wanted 1 to 65535 (0 is for rstat: ask the port mapper)");
  EXPECT_EQ(fault_of("[probe]\ninterval = 10ms"), "probe.interval is '10ms'; wanted 50ms to 1h");
  EXPECT_EQ(fault_of("[probe]\ntimeout = 2m"), "probe.timeout is '2m'; wanted 10ms to 1m");
  EXPECT_EQ(fault_of("[relay]\nconnect-timeout = 0s"), "relay.connect-timeout is '0s'; wanted 10ms to 1m");
  EXPECT_EQ(fault_of("[relay]\nresponse-timeout = 2h"), "relay.response-timeout is '2h'; wanted 100ms to 1h");
  EXPECT_EQ(fault_of("[relay]\nmax-body = 0"), "relay.max-body is '0'; wanted 1kB to 64GB");
  EXPECT_EQ(fault_of("[relay]\nspool-dir = tmp"), "relay.spool-dir is 'tmp'; wanted an absolute path");
  EXPECT_EQ(fault_of("[relay]\nca-file = ca.pem"), "relay.ca-file is 'ca.pem'; wanted an absolute path");
  EXPECT_EQ(fault_of("[relay]\nverify = maybe"), "relay.verify is 'maybe'; wanted yes or no");
  for (const char* bad : {"mode =",
                          "mode = AUTO",
                          "panic = 101%",
                          "panic = -1%",
                          "panic = %",
                          "peers = two",
                          "script = x",
                          "trusted-proxies = proxy.example.org",
                          "trusted-proxies = 10.0.0.0/33",
                          "private-cookies =",
                          "private-cookies = a=b",
                          "artifact-prefixes = tmp",
                          "cors-origin = a, b",
                          "host-header = on",
                          "long-location = 3500x",
                          "[probe]\nkind = snmp",
                          "[probe]\nport = 65536",
                          "[probe]\nweb-path = x",
                          "[probe]\nweb-path = /a b",
                          "[probe]\nmode = auto",
                          "[Probe]\nport = 1",
                          "Mode = auto"}) {
    EXPECT_NE(fault_of(bad), "") << bad;
  }
}

TEST(Config, ASingleKeyStandsOnce) {
  EXPECT_EQ(faults_of(std::string(kHost) + "mode = auto\nmode = auto\nanswer.page = relay\nanswer.page = 307\n"),
            "balance.conf:3: mode is given again; wanted it once\n"
            "balance.conf:5: answer.page is given again; wanted it once");
}

TEST(Config, ExpireMustSpanTwoIntervalsOfEveryKindInUse) {
  EXPECT_EQ(fault_of("[probe]\nexpire = 300ms"),
            "probe.expire is '300ms'; wanted at least 500ms, twice the interval of loadprobe");
  EXPECT_EQ(fault_of("[probe]\nexpire = 500ms"), "");
  EXPECT_EQ(faults_of("host = a http://a.example.org probe=node-exporter\n[probe]\nexpire = 2s\n"),
            "balance.conf:3: probe.expire is '2s'; wanted at least 4s, twice the interval of node-exporter");
  EXPECT_EQ(faults_of("host = a http://a.example.org probe=none\n[probe]\nexpire = 100ms\n"), "");
}

TEST(Config, EveryTruncationIsAConfigurationOrAnError) {
  const std::string whole = text_of("etc/balance.conf") + kHost + "[probe]\nkind = rstat\n";
  for (std::size_t length = 0; length <= whole.size(); length += 7) {
    const base::Result<Config> config = parse_config(whole.substr(0, length), "balance.conf");
    EXPECT_TRUE(config || !config.error().what.empty()) << length;
  }
}

TEST(Config, HostileBytesAreFaultsNotCrashes) {
  for (const std::string& bad :
       {std::string("host = a http://a.example.org\0x\n", 33), std::string("\xFF\xFE[probe]\n"), std::string("[\n"),
        std::string("]\n"), std::string("=\n"), std::string("host = a http://a.example.org weight=\xD9\xA1\n"),
        std::string(100000, 'x'), "host = " + std::string(100000, 'a')}) {
    const std::string what = faults_of(bad);
    EXPECT_NE(what, "");
    EXPECT_LT(what.size(), 1000U);
  }
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

std::string warnings_of(const std::string& lines, const std::string& hosts = kHost) {
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
  EXPECT_EQ(warnings_of("mode = redirect\n", std::string(kHost) + "host = b inside-only=http://10.0.0.1\n"),
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

// The shipped file with every '#key = value' line in force.
std::string shipped_in_force() {
  std::istringstream lines(text_of("etc/balance.conf"));
  std::string text;
  for (std::string line; std::getline(lines, line);) {
    const bool is_setting = line.size() > 1 && line[0] == '#' && line[1] >= 'a' && line[1] <= 'z';
    text.append(is_setting ? line.substr(1) : line).append("\n");
  }
  return text;
}

TEST(ShippedConfig, AsksForAHostAndNothingElse) {
  EXPECT_EQ(faults_of(text_of("etc/balance.conf")),
            "balance.conf: found no host; wanted at least one line 'host = NAME URL'");
}

TEST(ShippedConfig, ParsesWithAllItsExamplesInForce) { EXPECT_EQ(faults_of(shipped_in_force()), ""); }

TEST(ShippedConfig, ShowsTheDefaults) {
  const Config defaults = config_of();
  std::string text = shipped_in_force();
  for (const char* example :
       {"\npublic-url", "\nartifact-prefixes", "\ntrusted-proxies", "\nhost = darwin", "\nanswer"}) {
    for (std::size_t at = text.find(example); at != std::string::npos; at = text.find(example))
      text.insert(at + 1, "#");
  }
  const Config shown = config_of(text, "");
  EXPECT_EQ(shown.script, defaults.script);
  EXPECT_EQ(shown.mode, defaults.mode);
  EXPECT_EQ(shown.long_bytes, defaults.long_bytes);
  EXPECT_EQ(shown.onlineresource_set, defaults.onlineresource_set);
  EXPECT_EQ(shown.private_cookies, defaults.private_cookies);
  EXPECT_EQ(shown.allow_downgrade, defaults.allow_downgrade);
  EXPECT_EQ(shown.cors_origin, defaults.cors_origin);
  EXPECT_EQ(shown.host_header, defaults.host_header);
  EXPECT_EQ(shown.peers, defaults.peers);
  EXPECT_EQ(shown.panic, defaults.panic);
  EXPECT_EQ(shown.max_connections, defaults.max_connections);
  EXPECT_EQ(shown.hosts.front().probe, defaults.hosts.front().probe);
  EXPECT_EQ(shown.hosts.front().probe_port, defaults.hosts.front().probe_port);
  EXPECT_EQ(shown.probe.interval_of(ProbeKind::loadprobe), defaults.probe.interval_of(ProbeKind::loadprobe));
  EXPECT_EQ(shown.probe.expire_of(ProbeKind::loadprobe), defaults.probe.expire_of(ProbeKind::loadprobe));
  EXPECT_EQ(shown.probe.timeout, defaults.probe.timeout);
  EXPECT_EQ(shown.probe.web_interval, defaults.probe.web_interval);
  EXPECT_EQ(shown.probe.web_timeout, defaults.probe.web_timeout);
  EXPECT_EQ(shown.relay.connect_timeout, defaults.relay.connect_timeout);
  EXPECT_EQ(shown.relay.response_timeout, defaults.relay.response_timeout);
  EXPECT_EQ(shown.relay.stall_timeout, defaults.relay.stall_timeout);
  EXPECT_EQ(shown.relay.max_body_bytes, defaults.relay.max_body_bytes);
  EXPECT_EQ(shown.relay.spool_dir, defaults.relay.spool_dir);
  EXPECT_EQ(shown.relay.verify, defaults.relay.verify);
}

TEST(ShippedConfig, MentionsEveryKeyAndSoDoesTheManual) {
  const std::string shipped = text_of("etc/balance.conf"), manual = text_of("man/balance.conf.5");
  for (const std::string_view key : known_keys()) {
    const bool sectioned = key.starts_with("probe.") || key.starts_with("relay.");
    const std::string shown = "\n#" + std::string(sectioned ? key.substr(6) : key) + " = ";
    EXPECT_NE(shipped.find(shown), std::string::npos) << "etc/balance.conf lacks " << key;
    EXPECT_NE(manual.find("Cm " + std::string(key)), std::string::npos) << "man/balance.conf.5 lacks " << key;
  }
}

}  // namespace
}  // namespace balance
