// SPDX-License-Identifier: MIT
// What is allowed in balance.conf but hardly meant. Floor 1: pure functions, any thread.
#include <algorithm>
#include <unordered_map>

#include "balance/ground/config.h"
#include "loadprobe/base/network.h"
#include "loadprobe/base/text.h"

namespace balance {
namespace {

template <class Predicate>
bool all_hosts(const Config& config, Predicate predicate) {
  return std::ranges::all_of(config.hosts, predicate);
}

// 'a, b and 3 more'.
std::string listed(const std::vector<std::string>& names) {
  constexpr std::size_t kMost = 5;
  std::string out;
  for (std::size_t i = 0; i < names.size() && i < kMost; ++i) out.append(i == 0 ? "" : ", ").append(names[i]);
  if (names.size() > kMost) out += " and " + std::to_string(names.size() - kMost) + " more";
  return out;
}

template <class Predicate>
std::vector<std::string> names_of(const Config& config, Predicate predicate) {
  std::vector<std::string> names;
  for (const HostConfig& host : config.hosts) {
    if (predicate(host)) names.push_back(host.name);
  }
  return names;
}

bool is_private(const HostConfig& host) {
  if (!host.public_url) return false;
  if (host.public_url->host == "localhost" || host.public_url->host.ends_with(".localhost")) return true;
  const std::optional<base::Address> address = base::parse_address(host.public_url->host);
  return address && contains(base::local_networks(), *address);
}

bool is_everybody(const base::Cidr& range) {
  constexpr int kMappedBits = 96;  // of ::ffff:0:0/96, where IPv4 is
  return range.prefix_bits == 0 || (range.network.is_ipv4() && range.prefix_bits <= kMappedBits);
}

void warn_of_pool(const Config& config, std::vector<std::string>& out) {
  if (all_hosts(config, [](const HostConfig& h) { return h.backup; })) {
    out.emplace_back("every host is a backup: backups are for the time when no other host is usable");
  }
  if (config.backup_below > 1 && all_hosts(config, [](const HostConfig& h) { return !h.backup; })) {
    out.emplace_back("backup-below is " + std::to_string(config.backup_below) + ", but no host is a backup");
  }
  if (all_hosts(config, [](const HostConfig& h) { return h.weight == 0; })) {
    out.emplace_back("every host has weight 0: all are drained, none gets a request");
  }
  if (all_hosts(config, [](const HostConfig& h) { return h.probe == ProbeKind::none; })) {
    out.emplace_back("no host is probed: requests are spread by weight alone, whatever the load");
  }
  std::unordered_map<std::string, std::string_view> insides;
  for (const HostConfig& host : config.hosts) {
    const auto [first, is_new] = insides.emplace(origin_of(host.inside) + host.script, host.name);
    if (is_new) continue;
    out.push_back("host " + host.name + " is reached from inside at the address of host " + std::string(first->second) +
                  ": their reports tell of one machine");
  }
}

void warn_of_reach(const Config& config, std::vector<std::string>& out) {
  const std::vector<std::string> inside_only = names_of(config, [](const HostConfig& h) { return !h.public_url; });
  if (!inside_only.empty() && inside_only.size() == config.hosts.size()) {
    out.emplace_back("every host is inside-only: each request needs relaying");
  } else if (!inside_only.empty() && config.mode == Mode::redirect) {
    out.push_back("mode = redirect never uses hosts that are inside-only: " + listed(inside_only));
  }
  const bool on_https = config.public_url && config.public_url->scheme == Scheme::https;
  const std::vector<std::string> plain =
      names_of(config, [](const HostConfig& h) { return h.public_url && h.public_url->scheme == Scheme::http; });
  if (on_https && !config.allow_downgrade && !plain.empty()) {
    const std::string_view then = config.mode == Mode::redirect ? "they get no request" : "their requests are relayed";
    out.push_back("public-url is https but these hosts have http URLs, to which no client is redirected: " +
                  listed(plain) + "; " + std::string(then) + " unless allow-downgrade = yes");
  }
  if (const std::vector<std::string> astray = names_of(
          config, [&config](const HostConfig& h) { return config.public_url && h.script != config.public_url->path; });
      !astray.empty() && !config.onlineresource_set && config.mode != Mode::redirect) {
    out.push_back(
        "mapserv is under another path than public-url on these hosts, and they write theirs into relayed "
        "documents, unless their mapfiles have *_onlineresource and onlineresource = set: " +
        listed(astray));
  }
  if (const std::vector<std::string> nearby = names_of(config, is_private); !nearby.empty()) {
    out.push_back("clients are sent to private or local addresses, which they may not reach: " + listed(nearby));
  }
}

// nginx looks names up by itself, and not where this machine does.
void warn_of_hand_off(const Config& config, std::vector<std::string>& out) {
  if (std::ranges::find(config.answers, Answer::accel) == config.answers.end()) return;
  const std::vector<std::string> named =
      names_of(config, [](const HostConfig& h) { return !base::parse_address(h.inside.host).has_value(); });
  if (named.empty()) return;
  out.push_back("answer = accel has nginx look up the names of these hosts, for which it needs its 'resolver': " +
                listed(named) + "; inside=http://ADDRESS needs none");
}

void warn_of_settings(const Config& config, std::vector<std::string>& out) {
  // As shipped the timeout is longer than loadprobe's interval: that much a slow report may delay the next probe.
  const bool as_shipped = !config.probe.interval && config.probe.timeout == ProbeConfig{}.timeout;
  std::vector<ProbeKind> warned;
  for (const HostConfig& host : config.hosts) {
    const base::Seconds interval = config.probe.interval_of(host.probe);
    if (as_shipped || host.probe == ProbeKind::none || config.probe.timeout <= interval) continue;
    if (std::ranges::find(warned, host.probe) != warned.end()) continue;
    warned.push_back(host.probe);
    out.push_back("probe.timeout is " + base::to_text(config.probe.timeout) + ", longer than the interval of " +
                  std::string(name_of(host.probe)) + ", " + base::to_text(interval) +
                  ": a slow report delays the next probe");
  }
  if (config.local && config.sticky.kind == Sticky::cookie) {
    out.emplace_back("local is not used with sticky = cookie: a local redirect cannot set one");
  }
  if (config.sticky.kind == Sticky::cookie && config.sticky.key.empty() && config.peers > 1) {
    out.push_back("sticky = cookie has no sticky-key, but there are " + std::to_string(config.peers) +
                  " balancers (peers): they take each other's cookies only while none of them has a key, and whoever "
                  "knows the names of the hosts can make one up; wanted the same key at all of them");
  }
  if (!config.sticky.key.empty() && config.sticky.kind != Sticky::cookie) {
    out.emplace_back("sticky-key is of use with sticky = cookie alone");
  }
  if (std::ranges::any_of(config.trusted_proxies, is_everybody)) {
    out.emplace_back(
        "trusted-proxies contains every address: any client can say that it came by https, or from elsewhere");
  }
  const std::string& folder = config.state_dir;
  if (folder == "/tmp" || folder.starts_with("/tmp/") || folder == "/var/tmp" || folder.starts_with("/var/tmp/")) {
    out.push_back("state-dir is " + folder +
                  "; wanted a folder elsewhere, such as /run/balance: what is in /tmp anybody may make first");
  }
}

}  // namespace

std::vector<std::string> warnings(const Config& config) {
  std::vector<std::string> out;
  warn_of_pool(config, out);
  warn_of_reach(config, out);
  warn_of_settings(config, out);
  warn_of_hand_off(config, out);
  return out;
}

}  // namespace balance
