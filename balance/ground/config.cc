// SPDX-License-Identifier: MIT
// Floor 1: values and pure functions, any thread.
#include "balance/ground/config.h"

#include <algorithm>
#include <unordered_map>

#include "balance/ground/config_draft.h"
#include "balance/ground/config_values.h"
#include "balance/ground/sticky.h"
#include "loadprobe/base/text.h"

namespace balance {
namespace {

using base::Result;
using base::Seconds;
using base::Settings;

void read_all(const Settings& settings, Draft& draft) {
  KeyReader reader(draft);
  for (std::size_t i = 0; i < settings.list.size(); ++i) reader.read(settings.list[i], i);
}

// A failed host line leaves a gap in the hosts, not a pool without hosts.
bool has_host_line(const Settings& settings) {
  return std::ranges::any_of(settings.list, [](const base::Setting& setting) { return setting.key == "host"; });
}

std::optional<std::size_t> index_of(const Settings& settings, std::string_view key) {
  const auto found = std::ranges::find(settings.list, key, &base::Setting::key);
  if (found == settings.list.end()) return std::nullopt;
  return static_cast<std::size_t>(found - settings.list.begin());
}

// What the lines leave to defaults that other lines set.
void fill_in(Draft& draft) {
  Config& config = draft.config;
  if (config.public_url && config.public_url->path.empty()) config.public_url->path = config.script;
  for (HostDraft& line : draft.hosts) {
    HostConfig& host = line.host;
    if (host.script.empty()) host.script = config.script;
    host.probe = line.probe.value_or(draft.probe_kind);
    const std::uint16_t usual = host.probe == draft.probe_kind && draft.probe_port && host.probe != ProbeKind::none
                                    ? *draft.probe_port
                                    : default_port(host.probe);
    host.probe_port = line.probe_port.value_or(usual);
    if (host.public_url) {
      config.longest_base = std::max(config.longest_base, origin_of(*host.public_url).size() + host.script.size());
    }
  }
}

std::string address_of(const HostConfig& host) {
  Url url = host.public_url.value_or(host.inside);
  if (url.host.ends_with('.')) url.host.pop_back();
  return (host.public_url ? "" : "inside ") + origin_of(url) + percent_decoded(host.script);
}

void find_doubles(Draft& draft) {
  std::unordered_map<std::string, std::string_view> names, addresses;  // to the name of the host that had it first
  for (const HostDraft& line : draft.hosts) {
    const HostConfig& host = line.host;
    const auto [same_name, is_new_name] = names.emplace(base::lower(host.name), host.name);
    if (!is_new_name) {
      draft.faults.push_back({line.setting, "host " + host.name + ": there is a host " +
                                                std::string(same_name->second) + " already; wanted another name"});
    }
    const auto [same_address, is_new_address] = addresses.emplace(address_of(host), host.name);
    if (!is_new_address) {
      draft.faults.push_back({line.setting, "host " + host.name + ": URL and script are those of host " +
                                                std::string(same_address->second) + "; wanted one line a host"});
    }
  }
}

void find_loops(Draft& draft) {
  if (!draft.config.public_url) return;
  for (const HostDraft& line : draft.hosts) {
    HostConfig by_inside = line.host;
    by_inside.public_url = line.host.inside;
    if (!is_loop(line.host, *draft.config.public_url) && !is_loop(by_inside, *draft.config.public_url)) continue;
    draft.faults.push_back({line.setting, "host " + line.host.name +
                                              ": URL and script are those of public-url, which is a loop; "
                                              "wanted another address, or another script where mapserv itself is"});
  }
}

void check_artifacts(const Settings& settings, Draft& draft) {
  const Config& config = draft.config;
  for (const std::string& prefix : config.artifact_prefixes) {
    const std::string& own = config.public_url ? config.public_url->path : config.script;
    if (!own.starts_with(prefix)) continue;
    draft.faults.push_back(
        {index_of(settings, "artifact-prefixes").value_or(kWholeFile),
         "artifact-prefixes" + is_but(prefix, "a folder of pictures: the balancer itself is below it")});
  }
}

void check_local(const Settings& settings, Draft& draft) {
  if (draft.local_name.empty()) return;
  const std::size_t line = index_of(settings, "local").value_or(kWholeFile);
  const auto host = std::ranges::find_if(draft.hosts, [&draft](const HostDraft& one) {
    return base::same_ignoring_case(one.host.name, draft.local_name);
  });
  if (host == draft.hosts.end()) {
    draft.faults.push_back({line, "local" + is_but(draft.local_name, "the name of one of the hosts")});
    return;
  }
  const std::optional<Url>& self = draft.config.public_url;
  if (self && percent_decoded(self->path) == percent_decoded(draft.local_path)) {
    draft.faults.push_back({line, "local: " + draft.local_path +
                                      " is the path of public-url, which is a loop; wanted where mapserv itself is"});
  }
  draft.config.local = LocalHost{static_cast<std::size_t>(host - draft.hosts.begin()), draft.local_path};
}

void check_probe(const Settings& settings, Draft& draft) {
  if (const auto port = index_of(settings, "probe.port");
      port && draft.probe_port == 0 && draft.probe_kind != ProbeKind::rstat) {
    draft.faults.push_back({*port, "probe.port" + is_but("0", "1 to 65535 (0 is for rstat: ask the port mapper)")});
  }
  const std::optional<std::size_t> expire = index_of(settings, "probe.expire");
  const ProbeConfig& probe = draft.config.probe;
  if (!expire || !probe.expire) return;
  for (const HostDraft& line : draft.hosts) {
    const Seconds least = 2 * probe.interval_of(line.host.probe);
    if (line.host.probe == ProbeKind::none || *probe.expire >= least) continue;
    draft.faults.push_back(
        {*expire, "probe.expire" + is_but(base::to_text(*probe.expire), "at least " + base::to_text(least) +
                                                                            ", twice the interval of " +
                                                                            std::string(name_of(line.host.probe)))});
    return;
  }
}

void check_whole(const Settings& settings, Draft& draft) {
  fill_in(draft);
  find_doubles(draft);
  find_loops(draft);
  check_artifacts(settings, draft);
  check_local(settings, draft);
  check_probe(settings, draft);
  if (!has_host_line(settings)) {
    draft.faults.push_back({kWholeFile, "found no host; wanted at least one line 'host = NAME URL'"});
  }
}

}  // namespace

Result<Config> parse_config(std::string_view text, const std::string& file) {
  Draft draft;
  const Result<Settings> settings = base::parse_settings(text, file);
  if (!settings) {
    const Settings sound = base::sound_settings(text, file);
    read_all(sound, draft);
    check_whole(sound, draft);
    return base::all_faults(text, file, draft.faults);
  }
  read_all(*settings, draft);
  check_whole(*settings, draft);
  if (!draft.faults.empty()) return base::all_faults(text, file, draft.faults);
  draft.config.file = file;
  draft.config.fingerprint = base::fingerprint(text);
  draft.config.hosts.reserve(draft.hosts.size());
  for (HostDraft& line : draft.hosts) draft.config.hosts.push_back(std::move(line.host));
  draft.config.weights_differ = draft.config.weights_count();
  if (draft.config.sticky.kind != Sticky::none) fill_in_sticky(draft.config);
  return std::move(draft.config);
}

bool is_loop(const HostConfig& host, const Url& self) {
  return host.public_url && same_server(*host.public_url, self) &&
         percent_decoded(host.script) == percent_decoded(self.path.empty() ? "/" : self.path);
}

bool Config::weights_count() const {
  if (weights_differ) return *weights_differ;
  std::optional<double> first;
  for (const HostConfig& host : hosts) {
    if (host.weight <= 0) continue;
    if (first && *first != host.weight) return true;
    first = host.weight;
  }
  return false;
}

}  // namespace balance
