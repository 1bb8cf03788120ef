// SPDX-License-Identifier: MIT
#include "balance/table/affinity.h"

#include <algorithm>
#include <utility>

#include "balance/pool/decision.h"
#include "balance/table/lease.h"
#include "loadprobe/base/text.h"

namespace balance {
namespace {

std::string hex(std::uint64_t number) {
  constexpr std::string_view kDigits = "0123456789abcdef";
  std::string text;
  for (int shift = 60; shift >= 0; shift -= 4) text += kDigits[number >> shift & 0xF];
  return text;
}

TableShape clients_shape(const Config& config, const std::string& boot_id) {
  return {config.sticky.names, config.hosts.size(), boot_id};
}

// Configurations that share a file of entries may list their hosts in any order.
std::size_t place_of(const Config& config, const Table* clients, std::size_t host) {
  return clients == nullptr ? host : config.sticky.places[host];
}
std::size_t host_at(const Config& config, const Table* clients, std::size_t place) {
  return clients == nullptr ? place : config.sticky.by_name[place];
}

}  // namespace

std::optional<Bond> bond_of(const Request& request, const Config& config, const Table* table, const Table* clients,
                            Instant now) {
  if (config.sticky.kind == Sticky::cookie && request.cookie_host) return Bond{*request.cookie_host, std::nullopt};
  if (!is_by_address(config.sticky.kind) || !request.client) return std::nullopt;
  const Table* const entries = clients != nullptr ? clients : table;
  if (entries == nullptr) return std::nullopt;
  const std::optional<Table::Bond> bond = entries->bond_of_client(sticky_key(*request.client), now);
  if (!bond || bond->age >= config.sticky.timeout || bond->host >= config.hosts.size()) return std::nullopt;
  return Bond{host_at(config, clients, bond->host), config.sticky.timeout - bond->age};
}

std::size_t bind_client(const Request& request, const Config& config, const Tables& tables, std::size_t host,
                        std::optional<std::size_t> instead_of, Instant now) {
  Table* const entries = tables.clients != nullptr ? tables.clients : tables.table;
  if (entries == nullptr) return host;
  if (instead_of) instead_of = place_of(config, tables.clients, *instead_of);
  const std::size_t place = entries->claim_client(sticky_key(*request.client), place_of(config, tables.clients, host),
                                                  instead_of, now, config.sticky.timeout);
  return place < config.hosts.size() ? host_at(config, tables.clients, place) : host;
}

std::vector<std::size_t> sticky_clients(const Config& config, const Table& table, const Table* clients, Instant now) {
  if (!is_by_address(config.sticky.kind)) return {};
  const Table& entries = clients != nullptr ? *clients : table;
  const std::vector<std::size_t> by_place = entries.count_clients(now, config.sticky.timeout, is_sticky_tag);
  std::vector<std::size_t> counts(config.hosts.size(), 0);
  for (std::size_t i = 0; i < std::min(counts.size(), by_place.size()); ++i) {
    counts[host_at(config, clients, i)] = by_place[i];
  }
  return counts;
}

std::string clients_file(const StateFiles& files, const Config& config) {
  return files.table.substr(0, files.table.rfind('/') + 1) + hex(config.sticky.names) + ".clients";
}

base::Result<Table> open_clients(const StateFiles& files, const Config& config, const std::string& boot_id,
                                 Access access) {
  return Table::open(clients_file(files, config), clients_shape(config, boot_id), access);
}

base::Result<Table> make_clients(const StateFiles& files, const Config& config, const std::string& boot_id,
                                 const ClientsBefore& before) {
  base::Result<Table> opened = open_clients(files, config, boot_id);
  if (opened) return opened;
  // Several poolwatches may be at it, each with a lease of its own.
  const std::string path = clients_file(files, config);
  const base::Result<Lease> lease = Lease::take(path + ".lease", config.file);
  if (!lease) return lease.error();
  if (opened = open_clients(files, config, boot_id); opened) return opened;
  Table::Heritage heritage;
  if (before.config != nullptr && before.clients != nullptr && before.clients->intact()) {
    heritage.from = before.clients;
    const StickyConfig& was = before.config->sticky;
    for (const std::size_t host : config.sticky.by_name) {
      const std::uint64_t identity = identity_of(config.hosts[host]);
      const auto found = std::ranges::find(before.config->hosts, identity, identity_of);
      const auto index = static_cast<std::size_t>(found - before.config->hosts.begin());
      heritage.was.push_back(index < was.places.size() ? std::optional(was.places[index]) : std::nullopt);
    }
  }
  return Table::create(path, clients_shape(config, boot_id), heritage);
}

}  // namespace balance
