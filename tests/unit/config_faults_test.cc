// SPDX-License-Identifier: MIT
// What is wrong with a configuration, and how it is said.
#include "balance/ground/config.h"
#include "tests/unit/requests.h"

namespace balance {
namespace {

TEST(ConfigFaults, ListsEveryFaultAtOnceInTheOrderOfTheFile) {
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

TEST(ConfigFaults, TellsOfBlanksAroundTheEqualsSignOfAnOptionOnce) {
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

TEST(ConfigFaults, SaysWhereAnOptionOfAHostBelongsAndWhichClassesHaveAnswers) {
  EXPECT_EQ(faults_of("host = a http://a.example.org\nweight = 2\n"),
            "balance.conf:2: unknown key 'weight': it belongs on the line of a host, behind the URL");
  EXPECT_EQ(faults_of("host = a http://a.example.org\nanswer.pictures = relay\n"),
            "balance.conf:2: unknown key 'answer.pictures'; wanted answer.body, answer.artifact, answer.private, "
            "answer.document, answer.long, answer.cors, answer.image, answer.data, answer.page");
}

TEST(ConfigFaults, AsksForAHost) {
  EXPECT_EQ(faults_of(""), "balance.conf: found no host; wanted at least one line 'host = NAME URL'");
  EXPECT_EQ(faults_of("mode = x\n"),
            "balance.conf:1: mode is 'x'; wanted auto, redirect or relay\n"
            "balance.conf: found no host; wanted at least one line 'host = NAME URL'");
}

TEST(ConfigFaults, NamesDoubleHosts) {
  EXPECT_EQ(faults_of("host = darwin http://a.example.org\nhost = Darwin http://b.example.org\n"),
            "balance.conf:2: host Darwin: there is a host darwin already; wanted another name");
  EXPECT_EQ(faults_of("host = a http://h.example.org\nhost = b http://H.example.org:80 script=/cgi-bin/map%73erv\n"),
            "balance.conf:2: host b: URL and script are those of host a; wanted one line a host");
  EXPECT_NE(faults_of("host = a inside-only=http://10.0.0.1\nhost = b inside-only=http://10.0.0.1:80\n"), "");
  EXPECT_NE(faults_of("host = a http://h.example.org\nhost = b http://h.example.org.\n"), "");
  EXPECT_EQ(faults_of("host = a http://h.example.org\nhost = b http://h.example.org script=/2\n"), "");
  EXPECT_EQ(faults_of("host = a http://h.example.org\nhost = b https://h.example.org\n"), "");
}

TEST(ConfigFaults, NamesHostsThatAreTheBalancer) {
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

TEST(ConfigFaults, SaysWhatAHostLineLacks) {
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

TEST(ConfigFaults, SaysWhatIsWrongWithAnOption) {
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

TEST(ConfigFaults, SaysWhatIsWrongWithAValue) {
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

TEST(ConfigFaults, ASingleKeyStandsOnce) {
  EXPECT_EQ(faults_of(std::string(kOneHost) + "mode = auto\nmode = auto\nanswer.page = relay\nanswer.page = 307\n"),
            "balance.conf:3: mode is given again; wanted it once\n"
            "balance.conf:5: answer.page is given again; wanted it once");
}

TEST(ConfigFaults, ExpireMustSpanTwoIntervalsOfEveryKindInUse) {
  EXPECT_EQ(fault_of("[probe]\nexpire = 300ms"),
            "probe.expire is '300ms'; wanted at least 500ms, twice the interval of loadprobe");
  EXPECT_EQ(fault_of("[probe]\nexpire = 500ms"), "");
  EXPECT_EQ(faults_of("host = a http://a.example.org probe=node-exporter\n[probe]\nexpire = 2s\n"),
            "balance.conf:3: probe.expire is '2s'; wanted at least 4s, twice the interval of node-exporter");
  EXPECT_EQ(faults_of("host = a http://a.example.org probe=none\n[probe]\nexpire = 100ms\n"), "");
}

TEST(ConfigFaults, HostileBytesAreFaultsNotCrashes) {
  for (const std::string& bad :
       {std::string("host = a http://a.example.org\0x\n", 33), std::string("\xFF\xFE[probe]\n"), std::string("[\n"),
        std::string("]\n"), std::string("=\n"), std::string("host = a http://a.example.org weight=\xD9\xA1\n"),
        std::string(100000, 'x'), "host = " + std::string(100000, 'a')}) {
    const std::string what = faults_of(bad);
    EXPECT_NE(what, "");
    EXPECT_LT(what.size(), 1000U);
  }
}

}  // namespace
}  // namespace balance
