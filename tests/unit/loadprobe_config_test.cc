// SPDX-License-Identifier: MIT
#include <gtest/gtest.h>

#include "loadprobe/listener.h"
#include "loadprobe/probe_config.h"

namespace loadprobe {
namespace {

std::string fault_of(std::string_view text) {
  const base::Result<ProbeConfig> config = parse_config(text, "x.conf");
  return config ? "none" : config.error().what;
}

TEST(ProbeConfig, AnEmptyFileMeansTheDefaults) {
  const base::Result<ProbeConfig> config = parse_config("# nothing\n", "x.conf");
  ASSERT_TRUE(config);
  ASSERT_EQ(config->listen.size(), 1U);
  EXPECT_EQ(to_text(config->listen[0]), "[::]:9719");
  EXPECT_TRUE(base::contains(config->allow, *base::parse_address("10.1.2.3")));
  EXPECT_FALSE(base::contains(config->allow, *base::parse_address("8.8.8.8")));
  EXPECT_EQ(config->scope, Scope{});
  EXPECT_EQ(config->drain_file, "/run/loadprobe/drain");
}

TEST(ProbeConfig, ReadsEveryKey) {
  const base::Result<ProbeConfig> config = parse_config(
      "listen = 127.0.0.1:1\nlisten = [::1]:2 # two\nallow = 192.0.2.0/24\nallow = ::1\nscope = "
      "cgroup:/hosts/pinchot/\n"
      "queue = unix:/run/mapserv.sock\nqueue = tcp:[::1]:9000\ndrain-file = /tmp/d\n",
      "x.conf");
  ASSERT_TRUE(config) << config.error().what;
  ASSERT_EQ(config->listen.size(), 2U);
  EXPECT_EQ(to_text(config->listen[1]), "[::1]:2");
  EXPECT_TRUE(base::contains(config->allow, *base::parse_address("192.0.2.9")));
  EXPECT_FALSE(base::contains(config->allow, *base::parse_address("127.0.0.1")));
  EXPECT_EQ(config->scope, (Scope{Scope::Kind::cgroup, "/hosts/pinchot", ""}));
  EXPECT_EQ(config->drain_file, "/tmp/d");
  ASSERT_EQ(config->queues.size(), 2U);
  EXPECT_EQ(to_text(config->queues[0]), "unix:/run/mapserv.sock");
  EXPECT_EQ(to_text(config->queues[1]), "tcp:[::1]:9000");
}

TEST(ProbeConfig, TheRootGroupIsAGroup) {
  EXPECT_EQ(parse_config("scope = cgroup:/", "x.conf")->scope, (Scope{Scope::Kind::cgroup, "", ""}));
}

TEST(ProbeConfig, ListsAllFaultsInTheOrderOfTheFile) {
  EXPECT_EQ(
      fault_of("lisen = 127.0.0.1:1\nnonsense\nallow = everybody\n\nscope = host\nscope = tree:/x\n[s]\nallow = ::1\n"),
      "x.conf:1: unknown key 'lisen'; the nearest known one is 'listen'\n"
      "x.conf:2: found 'nonsense'; wanted 'key = value' or '[section]'\n"
      "x.conf:3: allow: 'everybody' is no range of addresses; wanted one as in '10.0.0.0/8' or '2001:db8::/32'\n"
      "x.conf:6: scope is given too often; wanted at most 1\n"
      "x.conf:8: unknown key 's.allow': 'allow' lines stand before the first [section]");
}

TEST(ProbeConfig, RefusesAScopeThatIsNone) {
  constexpr const char* kEnd =
      "' is no scope; wanted 'host', 'cgroup:/PATH' with the group's path as in /proc/PID/cgroup, or 'tree:/PATH' with "
      "the "
      "path of a web server's PID file";
  for (const char* bad : {"", "Host", "cgroup:", "cgroup:hosts/a", "cgroup:/../../etc", "cgroup:/a/./b",
                          "tree:", "tree:web.pid", "tree:/run/"}) {
    EXPECT_EQ(fault_of(std::string("scope = ") + bad), std::string("x.conf:1: scope: '") + bad + kEnd);
  }
}

TEST(ProbeConfig, ATreeIsNamedByItsPidFile) {
  EXPECT_EQ(parse_config("scope = tree:/run/nginx.pid", "x.conf")->scope,
            (Scope{Scope::Kind::tree, "", "/run/nginx.pid"}));
}

TEST(ProbeConfig, RefusesAQueueThatIsNoListeningSocket) {
  EXPECT_EQ(fault_of("queue = tcp:localhost:9000"),
            "x.conf:1: queue: 'tcp:localhost:9000' is no listening socket; wanted 'unix:/PATH' or 'tcp:ADDRESS:PORT' "
            "with a numeric address");
}

TEST(ProbeConfig, RefusesARelativeDrainFile) {
  EXPECT_EQ(fault_of("drain-file = drain"), "x.conf:1: drain-file: 'drain' is no absolute path of a file");
  EXPECT_EQ(fault_of("drain-file = /run/"), "x.conf:1: drain-file: '/run/' is no absolute path of a file");
}

TEST(ProbeConfig, RefusesAHostNameToListenAt) {
  EXPECT_EQ(fault_of("listen = localhost:9719"),
            "x.conf:1: listen: 'localhost:9719' is no address to listen at; wanted a numeric address and a port, as in "
            "'127.0.0.1:9719' or '[::]:9719'");
}

}  // namespace
}  // namespace loadprobe
