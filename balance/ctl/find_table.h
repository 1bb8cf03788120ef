// SPDX-License-Identifier: MIT
// Finds the table of a configuration among the places where it may lie. Floor 3.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "balance/ground/config.h"
#include "balance/table/lease.h"
#include "balance/table/state_dir.h"
#include "balance/table/table.h"

namespace balance {

struct FoundTable {
  StateFiles files;
  Table table;
};

struct TableSearch {
  std::optional<FoundTable> found;    // the one that poolwatch touched last
  std::vector<std::string> others;    // tables of this configuration at other places
  std::vector<std::string> refusals;  // files that are none that we can read, and why
  std::string directory;              // where it was looked for first
  // For who finds none: how the lease there stands, and whether this user may look there at all.
  LeaseState lease;
  std::optional<std::string> conflict;  // with another configuration of the same base name
  bool is_hidden = false;
};

// Looks everywhere this user may: as root also where other users' processes keep theirs.
TableSearch find_table(const Config& config, const StateRoots& roots, const std::string& boot_id);

// The entries of sticky = client-wild beside a table; nothing where there are none, or none that we can read.
std::optional<Table> clients_beside(const FoundTable& found, const Config& config, const std::string& boot_id);

// One sentence for people who have no table: what was looked at and what was wrong with it.
std::string why_none(const TableSearch& search);
// And what that says of poolwatch.
std::string poolwatch_without_table(const TableSearch& search);

}  // namespace balance
