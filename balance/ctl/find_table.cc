// SPDX-License-Identifier: MIT
#include "balance/ctl/find_table.h"

#include <utility>

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
  return search;
}

std::string why_none(const TableSearch& search) {
  std::string text = "no table of this configuration";
  if (search.refusals.empty()) return text + " in " + search.directory + " or any other place this user may look at";
  for (const std::string& refusal : search.refusals) text += "; " + refusal;
  return text;
}

}  // namespace balance
