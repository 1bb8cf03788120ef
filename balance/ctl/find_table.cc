// SPDX-License-Identifier: MIT
#include "balance/ctl/find_table.h"

#include <unistd.h>

#include <cerrno>
#include <utility>

#include "balance/table/affinity.h"
#include "loadprobe/base/fd.h"

namespace balance {
namespace {

Instant beat_of(const Table& table) { return table.pool().value_or(PoolStanding{}).beat; }

}  // namespace

TableSearch find_table(const Config& config, const StateRoots& roots, const std::string& boot_id) {
  TableSearch search;
  search.directory = config.state_dir.empty() ? roots.standard : config.state_dir;
  const TableShape shape{.fingerprint = config.fingerprint, .hosts = config.hosts.size(), .boot_id = boot_id};
  for (StateFiles& files : existing_states(config.state_dir, config.file, roots)) {
    base::Result<Table> table = Table::open(files.table, shape, Access::read_only);
    if (!table) {
      search.refusals.push_back(table.error().what);
    } else if (!search.found || beat_of(*table) > beat_of(search.found->table)) {
      if (search.found) search.others.push_back(search.found->files.table);
      search.found = FoundTable{std::move(files), *std::move(table)};
    } else {
      search.others.push_back(files.table);
    }
  }
  if (search.found) return search;
  const StateFiles first = state_files(search.directory, config.file);
  search.lease = lease_state(first.lease);
  search.conflict = conflict(search.lease, first, config.file);
  search.is_hidden = access(first.table.c_str(), R_OK) != 0 && errno == EACCES;
  if (search.is_hidden && search.refusals.empty()) {
    search.refusals.push_back(base::system_error("cannot look at " + first.table).what);
  }
  return search;
}

std::optional<Table> clients_beside(const FoundTable& found, const Config& config, const std::string& boot_id) {
  if (config.sticky.kind != Sticky::client_wild) return std::nullopt;
  base::Result<Table> clients = open_clients(found.files, config, boot_id, Access::read_only);
  if (!clients) return std::nullopt;
  return *std::move(clients);
}

std::string why_none(const TableSearch& search) {
  std::string text = "no table of this configuration";
  if (search.refusals.empty()) return text + " in " + search.directory + " or any other place this user may look at";
  for (const std::string& refusal : search.refusals) text += "; " + refusal;
  return text;
}

std::string poolwatch_without_table(const TableSearch& search) {
  if (search.conflict) return "NOT RUNNING for this configuration (" + *search.conflict + ")";
  if (search.is_hidden || search.lease.holding == Holding::unknown) {
    return "unknown (this user may not look into " + search.directory + "; ask as root, or as a member of its group)";
  }
  if (search.lease.holding != Holding::held) return "NOT RUNNING";
  const std::string who =
      search.lease.process ? "process " + std::to_string(*search.lease.process) : std::string("another process");
  return "begins (" + who + " holds the lease, and has made no table of this configuration yet)";
}

}  // namespace balance
