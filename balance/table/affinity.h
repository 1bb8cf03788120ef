// SPDX-License-Identifier: MIT
// Which host a sticky client stays with: told by its cookie, or by the entries that all processes share, in the table
// itself or, over several configurations, in a file of their own. Floor 3. Any thread.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "balance/ground/config.h"
#include "balance/ground/request.h"
#include "balance/table/state_dir.h"
#include "balance/table/table.h"
#include "loadprobe/base/result.h"

namespace balance {

// What the processes of a balancer share.
struct Tables {
  Table* table = nullptr;    // null: there is none
  Table* clients = nullptr;  // of sticky = client-wild; null: none, so the entries are the table's
  Tables() = default;
  Tables(Table* of_the_pool, Table* of_clients = nullptr)  // NOLINT(google-explicit-constructor): the usual one
      : table(of_the_pool), clients(of_clients) {}
};

struct Bond {
  std::size_t host = 0;         // index in Config::hosts
  std::optional<Seconds> left;  // until it ends without another request; of a cookie the client alone knows
};
// Nothing for a client without an address or with an entry that has expired, and where nobody is sticky.
std::optional<Bond> bond_of(const Request& request, const Config& config, const Table* table, const Table* clients,
                            Instant now);

// The client is to stay with `host`, instead of `instead_of`. Another process may have been first with another host:
// then that is what it gives. REQUIRES: clients are sticky by address, and this one has one.
std::size_t bind_client(const Request& request, const Config& config, const Tables& tables, std::size_t host,
                        std::optional<std::size_t> instead_of, Instant now);

// How many clients stay with each host at the moment; empty unless they are sticky by address.
std::vector<std::size_t> sticky_clients(const Config& config, const Table& table, const Table* clients, Instant now);

// --- the file of sticky = client-wild: a table of its own, named for the hosts ---
std::string clients_file(const StateFiles& files, const Config& config);
base::Result<Table> open_clients(const StateFiles& files, const Config& config, const std::string& boot_id,
                                 Access access = Access::read_write);
// Opens it, or makes a new one where there is none or what is there is of no use. `before` and its table, if given, are
// those of the hosts until now: their clients come along. Fault::unavailable: another process is at it.
struct ClientsBefore {
  const Config* config = nullptr;
  const Table* clients = nullptr;
};
base::Result<Table> make_clients(const StateFiles& files, const Config& config, const std::string& boot_id,
                                 const ClientsBefore& before);

}  // namespace balance
