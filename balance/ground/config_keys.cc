// SPDX-License-Identifier: MIT
// The keys of balance.conf: one table, one reader each. Floor 1: pure functions, any thread.
// A new key is a member of Config (config.h), a line of kKeys, and its words in man/balance.conf.5, etc/balance.conf
// and the tests. Its reader is one of config_values.h; a value like no other has a reader in config_special.h.
#include <algorithm>
#include <array>

#include "balance/ground/config_draft.h"
#include "balance/ground/config_special.h"
#include "balance/ground/config_values.h"
#include "loadprobe/base/text.h"

namespace balance {
namespace {

using base::Seconds;
using Value = std::string_view;

constexpr std::array<Named<bool>, 2> kYesNo{{{"yes", true}, {"no", false}}};
constexpr std::array<Named<bool>, 2> kOnlineResource{{{"set", true}, {"unset", false}}};
constexpr std::array<Named<Mode>, 3> kModes{
    {{"auto", Mode::automatic}, {"redirect", Mode::redirect}, {"relay", Mode::relay}}};
constexpr std::array<Named<Sticky>, 4> kSticky{{{"none", Sticky::none},
                                                {"client", Sticky::client},
                                                {"client-wild", Sticky::client_wild},
                                                {"cookie", Sticky::cookie}}};
constexpr std::array<Named<DrainSticky>, 2> kDrainSticky{{{"keep", DrainSticky::keep}, {"move", DrainSticky::move}}};
constexpr std::array<Named<ProbeKind>, 4> kProbeKinds{{{"loadprobe", ProbeKind::loadprobe},
                                                       {"node-exporter", ProbeKind::node_exporter},
                                                       {"rstat", ProbeKind::rstat},
                                                       {"none", ProbeKind::none}}};

constexpr DurationRange kIntervals{Seconds{0.05}, Seconds{3600}};
constexpr DurationRange kTimeouts{Seconds{0.01}, Seconds{60}};
constexpr DurationRange kExpiries{Seconds{0.1}, Seconds{86400}};
constexpr DurationRange kDrainWaits{Seconds{0}, Seconds{3600}};
constexpr DurationRange kStickyTimeouts{Seconds{1}, Seconds{86400}};
constexpr DurationRange kResponseTimeouts{Seconds{0.1}, Seconds{3600}};
constexpr SizeRange kBodySizes{1024, std::uint64_t{64} << 30, "1kB to 64GB"};
constexpr SizeRange kLocationSizes{200, 65536, "200 to 64kB"};
constexpr WholeRange kPeers{1, 64}, kBackupsBelow{1, 32}, kConnections{1, 10000}, kPorts{0, 65535};

template <Class c>
std::string answer(Draft& d, Value v) {
  return read_answer(d, c, v);
}

// Takes in a value; says what is wrong with it as the readers of config_values.h do.
using Reader = std::string (*)(Draft& draft, Value value);
struct Key {
  std::string_view name;
  Reader read;
};

constexpr std::array kKeys = {
    Key{"public-url", read_public_url},
    Key{"script", [](Draft& d, Value v) { return read_script_path(v, d.config.script); }},
    Key{"mode", [](Draft& d, Value v) { return read_choice(v, kModes, d.config.mode); }},
    Key{"sticky", [](Draft& d, Value v) { return read_choice(v, kSticky, d.config.sticky.kind); }},
    Key{"sticky-timeout", [](Draft& d, Value v) { return read_duration(v, kStickyTimeouts, d.config.sticky.timeout); }},
    Key{"sticky-key", read_sticky_key},
    Key{"local", read_local},
    Key{"peers", [](Draft& d, Value v) { return read_whole(v, kPeers, d.config.peers); }},
    Key{"panic", read_panic},
    Key{"backup-below", [](Draft& d, Value v) { return read_whole(v, kBackupsBelow, d.config.backup_below); }},
    Key{"drain-sticky", [](Draft& d, Value v) { return read_choice(v, kDrainSticky, d.config.drain_sticky); }},
    Key{"drain-wait", [](Draft& d, Value v) { return read_duration(v, kDrainWaits, d.config.drain_wait); }},
    Key{"state-dir", [](Draft& d, Value v) { return read_absolute_path(v, d.config.state_dir); }},
    Key{"keep-dir", [](Draft& d, Value v) { return read_absolute_path(v, d.config.keep_dir); }},
    Key{"max-connections", [](Draft& d, Value v) { return read_whole(v, kConnections, d.config.max_connections); }},
    Key{"trusted-proxies", read_trusted_proxies},
    Key{"allow-downgrade", [](Draft& d, Value v) { return read_choice(v, kYesNo, d.config.allow_downgrade); }},
    Key{"private-cookies", read_private_cookies},
    Key{"artifact-prefixes", read_artifact_prefixes},
    Key{"long-location", [](Draft& d, Value v) { return read_size(v, kLocationSizes, d.config.long_bytes); }},
    Key{"onlineresource",
        [](Draft& d, Value v) { return read_choice(v, kOnlineResource, d.config.onlineresource_set); }},
    Key{"cors-origin", read_cors_origin},
    Key{"host-header", [](Draft& d, Value v) { return read_choice(v, kYesNo, d.config.host_header); }},
    Key{"probe.kind", [](Draft& d, Value v) { return read_choice(v, kProbeKinds, d.probe_kind); }},
    Key{"probe.port", [](Draft& d, Value v) { return read_whole(v, kPorts, d.probe_port); }},
    Key{"probe.interval", [](Draft& d, Value v) { return read_duration(v, kIntervals, d.config.probe.interval); }},
    Key{"probe.timeout", [](Draft& d, Value v) { return read_duration(v, kTimeouts, d.config.probe.timeout); }},
    Key{"probe.expire", [](Draft& d, Value v) { return read_duration(v, kExpiries, d.config.probe.expire); }},
    Key{"probe.web-interval",
        [](Draft& d, Value v) { return read_duration(v, kIntervals, d.config.probe.web_interval); }},
    Key{"probe.web-timeout", [](Draft& d, Value v) { return read_duration(v, kTimeouts, d.config.probe.web_timeout); }},
    Key{"probe.web-path", read_web_path},
    Key{"relay.connect-timeout",
        [](Draft& d, Value v) { return read_duration(v, kTimeouts, d.config.relay.connect_timeout); }},
    Key{"relay.response-timeout",
        [](Draft& d, Value v) { return read_duration(v, kResponseTimeouts, d.config.relay.response_timeout); }},
    Key{"relay.stall-timeout",
        [](Draft& d, Value v) { return read_duration(v, kResponseTimeouts, d.config.relay.stall_timeout); }},
    Key{"relay.max-body", [](Draft& d, Value v) { return read_size(v, kBodySizes, d.config.relay.max_body_bytes); }},
    Key{"relay.spool-dir", [](Draft& d, Value v) { return read_absolute_path(v, d.config.relay.spool_dir); }},
    Key{"relay.ca-file", [](Draft& d, Value v) { return read_absolute_path(v, d.config.relay.ca_file); }},
    Key{"relay.verify", [](Draft& d, Value v) { return read_choice(v, kYesNo, d.config.relay.verify); }},
    // Class::options has none: it is always answered here.
    Key{"answer.body", answer<Class::body>},
    Key{"answer.artifact", answer<Class::artifact>},
    Key{"answer.private", answer<Class::private_>},
    Key{"answer.document", answer<Class::document>},
    Key{"answer.long", answer<Class::long_>},
    Key{"answer.cors", answer<Class::cors>},
    Key{"answer.image", answer<Class::image>},
    Key{"answer.data", answer<Class::data>},
    Key{"answer.page", answer<Class::page>},
};
constexpr std::string_view kAnswer = "answer.";

std::string unknown_key(const std::string& key) {
  const std::string unknown = "unknown key '" + base::escaped(key) + "'";
  if (is_host_option(key)) return unknown + ": it belongs on the line of a host, behind the URL";
  std::string what = base::unknown_key(key, known_keys());
  if (!key.starts_with(kAnswer) || what != unknown) return what;
  std::string_view before = "; wanted ";
  for (const Key& one : kKeys) {
    if (!one.name.starts_with(kAnswer)) continue;
    what.append(before).append(one.name);
    before = ", ";
  }
  return what;
}

}  // namespace

std::vector<std::string_view> known_keys() {
  std::vector<std::string_view> keys{"host"};
  for (const Key& key : kKeys) keys.push_back(key.name);
  return keys;
}

KeyReader::KeyReader(Draft& draft) : draft_(draft), seen_(kKeys.size(), 0) {}

void KeyReader::read(const base::Setting& setting, std::size_t index) {
  if (setting.key == "host") return read_host(setting.value, index, draft_);
  const auto* key = std::ranges::find(kKeys, std::string_view(setting.key), &Key::name);
  std::string fault;
  if (key != kKeys.end()) {
    const bool again = std::exchange(seen_[static_cast<std::size_t>(key - kKeys.begin())], 1) != 0;
    fault = again ? " is given again; wanted it once" : key->read(draft_, setting.value);
  } else if (setting.key == "answer.options") {
    fault = " is not for choice: OPTIONS is always answered by the balancer";
  } else {
    draft_.faults.push_back({index, unknown_key(setting.key)});
    return;
  }
  if (!fault.empty()) draft_.faults.push_back({index, setting.key + fault});
}

std::optional<ProbeKind> probe_kind_of(std::string_view name) {
  const auto* kind = std::ranges::find(kProbeKinds, name, &Named<ProbeKind>::name);
  if (kind == kProbeKinds.end()) return std::nullopt;
  return kind->value;
}

std::string_view name_of(ProbeKind kind) { return name_in(kProbeKinds, kind); }

std::string_view name_of(Mode mode) { return name_in(kModes, mode); }

std::string_view name_of(Sticky kind) { return name_in(kSticky, kind); }

}  // namespace balance
