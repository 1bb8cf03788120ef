// SPDX-License-Identifier: MIT
// Floor 1: pure functions over text.
#include "loadprobe/probe_config.h"

#include <algorithm>
#include <array>

#include "loadprobe/base/settings.h"
#include "loadprobe/base/text.h"

namespace loadprobe {
namespace {

using base::Error;
using base::Fault;
using base::ok;
using base::Result;
using base::Status;

Status take_listen(ProbeConfig& config, const std::string& value) {
  const Result<base::Endpoint> endpoint = base::parse_endpoint(value);
  if (!endpoint) return endpoint.error();
  config.listen.push_back(*endpoint);
  return ok();
}

Status take_allow(ProbeConfig& config, const std::string& value) {
  const Result<base::Cidr> range = base::parse_cidr(value);
  if (!range) return range.error();
  config.allow.push_back(*range);
  return ok();
}

bool climbs(std::string_view path) {
  const std::vector<std::string_view> steps = base::split(path, '/');
  return std::ranges::any_of(steps, [](std::string_view step) { return step == ".." || step == "."; });
}

Status take_scope(ProbeConfig& config, const std::string& value) {
  constexpr std::string_view kCgroup = "cgroup:", kTree = "tree:";
  if (value == "host") {
    config.scope = Scope{};
    return ok();
  }
  const bool is_tree = value.starts_with(kTree);
  std::string_view path = value;
  path.remove_prefix(is_tree ? kTree.size() : value.starts_with(kCgroup) ? kCgroup.size() : value.size());
  if (!path.starts_with('/') || (is_tree ? path.ends_with('/') : climbs(path))) {
    return Error{Fault::usage, "'" + base::escaped(value) +
                                   "' is no scope; wanted 'host', 'cgroup:/PATH' with the group's path as in "
                                   "/proc/PID/cgroup, or 'tree:/PATH' with the path of a web server's PID file"};
  }
  if (is_tree) {
    config.scope = Scope{Scope::Kind::tree, "", std::string(path)};
    return ok();
  }
  while (path.ends_with('/')) path.remove_suffix(1);
  config.scope = Scope{Scope::Kind::cgroup, std::string(path), ""};
  return ok();
}

Status take_queue(ProbeConfig& config, const std::string& value) {
  Result<Queue> queue = parse_queue(value);
  if (!queue) return queue.error();
  config.queues.push_back(*std::move(queue));
  return ok();
}

Status take_drain_file(ProbeConfig& config, const std::string& value) {
  if (!value.starts_with('/') || value.ends_with('/')) {
    return Error{Fault::usage, "'" + base::escaped(value) + "' is no absolute path of a file"};
  }
  config.drain_file = value;
  return ok();
}

struct Key {
  std::string_view name;
  std::size_t most_times;
  Status (*take)(ProbeConfig&, const std::string&);
};
constexpr std::array<Key, 5> kKeys{{
    {"listen", 16, take_listen},
    {"allow", 1000, take_allow},
    {"scope", 1, take_scope},
    {"queue", 64, take_queue},
    {"drain-file", 1, take_drain_file},
}};

std::string unknown(std::string_view key) {
  std::vector<std::string_view> names;
  names.reserve(kKeys.size());
  for (const Key& one : kKeys) names.push_back(one.name);
  return base::unknown_key(key, names);
}

// The fault of this setting, "" if it was taken. `times` counts each key's settings.
std::string take(ProbeConfig& config, const base::Setting& setting, std::array<std::size_t, kKeys.size()>& times) {
  const auto key = std::ranges::find(kKeys, setting.key, &Key::name);
  if (key == kKeys.end()) return unknown(setting.key);
  if (++times[static_cast<std::size_t>(key - kKeys.begin())] > key->most_times) {
    return setting.key + " is given too often; wanted at most " + std::to_string(key->most_times);
  }
  const Status taken = key->take(config, setting.value);
  return taken ? "" : setting.key + ": " + taken.error().what;
}

}  // namespace

ProbeConfig default_config() {
  constexpr std::uint16_t kPort = 9719;
  return ProbeConfig{
      {base::Endpoint{base::Address{}, kPort}}, base::local_networks(), Scope{}, {}, "/run/loadprobe/drain"};
}

Result<ProbeConfig> parse_config(std::string_view text, const std::string& file) {
  Result<base::Settings> settings = base::parse_settings(text, file);
  const bool well_formed = static_cast<bool>(settings);
  const base::Settings sound = well_formed ? *std::move(settings) : base::sound_settings(text, file);

  const ProbeConfig defaults = default_config();
  ProbeConfig config{{}, {}, defaults.scope, {}, defaults.drain_file};
  std::array<std::size_t, kKeys.size()> times{};
  std::vector<base::SettingFault> faults;
  for (std::size_t i = 0; i < sound.list.size(); ++i) {
    if (std::string fault = take(config, sound.list[i], times); !fault.empty()) faults.push_back({i, std::move(fault)});
  }
  if (!well_formed || !faults.empty()) return base::all_faults(text, file, faults);
  if (config.listen.empty()) config.listen = defaults.listen;
  if (config.allow.empty()) config.allow = defaults.allow;
  return config;
}

}  // namespace loadprobe
