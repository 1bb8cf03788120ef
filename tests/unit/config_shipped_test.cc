// SPDX-License-Identifier: MIT
// etc/balance.conf, the manual and the keys that there are.
#include <sstream>

#include "balance/ground/config.h"
#include "tests/unit/files.h"
#include "tests/unit/requests.h"

namespace balance {
namespace {

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
