// SPDX-License-Identifier: MIT
#include "balance/ctl/in_use.h"

#include <sys/stat.h>

#include <optional>
#include <utility>

#include "balance/ctl/find_table.h"
#include "balance/table/config_file.h"
#include "balance/table/used_config.h"
#include "loadprobe/base/file.h"
#include "loadprobe/base/text.h"

namespace balance {
namespace {

// It is only looked at here, so whoever keeps the table may keep the copy too.
base::Result<UsedConfig> kept_beside(const StateFiles& files, const std::string& config_file) {
  struct stat table = {};
  if (stat(files.table.c_str(), &table) != 0) return base::system_error("cannot stat " + files.table);
  return read_used_config(files, config_file, table.st_uid);
}

Instant beat_of(const TableSearch& search) {
  return search.found ? search.found->table.pool().value_or(PoolStanding{}).beat : base::kNever;
}

std::optional<Config> kept_config(const std::string& config_file, const StateRoots& roots, const std::string& boot_id) {
  constexpr std::size_t kMostBytes = std::size_t{4} << 20;
  const base::Result<std::string> text = base::read_file(config_file, kMostBytes);
  const std::string named = text ? state_dir_in(*text) : "";
  std::vector<StateFiles> places = existing_states(named, config_file, roots);
  if (!named.empty()) {
    for (StateFiles& files : existing_states("", config_file, roots)) places.push_back(std::move(files));
  }
  std::optional<Config> best;
  Instant beat = base::kNever;
  for (const StateFiles& files : places) {
    base::Result<UsedConfig> used = kept_beside(files, config_file);
    if (!used) continue;
    const Instant its_beat = beat_of(find_table(used->config, roots, boot_id));
    if (best && its_beat <= beat) continue;
    best = std::move(used->config);
    beat = its_beat;
  }
  return best;
}

}  // namespace

base::Result<InUse> find_in_use(const std::string& config_file, const StateRoots& roots, const std::string& boot_id) {
  base::Result<Config> config = read_config(config_file);
  if (config) return InUse{*std::move(config), {}};
  std::optional<Config> kept = kept_config(config_file, roots, boot_id);
  if (!kept) return std::move(config).error();
  InUse in_use{*std::move(kept), {}};
  for (const std::string_view fault : base::split(config.error().what, '\n')) in_use.faults.emplace_back(fault);
  return in_use;
}

}  // namespace balance
