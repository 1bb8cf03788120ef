// SPDX-License-Identifier: MIT
// Tables for tests, as poolwatch would have made and filled them.
#pragma once

#include <stdexcept>
#include <string>
#include <utility>

#include "balance/ground/config.h"
#include "balance/pool/standing.h"
#include "balance/table/table.h"

namespace balance {

inline TableShape shape_of(const Config& config) {
  return TableShape{.fingerprint = config.fingerprint, .hosts = config.hosts.size(), .boot_id = "boot"};
}

// Throws where it cannot be made.
inline Table make_table(const std::string& path, const TableShape& shape) {
  base::Result<Table> made = Table::create(path, shape);
  if (!made) throw std::runtime_error(made.error().what);
  return *std::move(made);
}
inline Table make_table(const std::string& path, const Config& config) { return make_table(path, shape_of(config)); }

// Of a host of four cores that has nothing to do.
inline Standing healthy(Instant reported) {
  Standing standing;
  standing.health = Health::up;
  standing.reported = reported;
  standing.cores = 4;
  return standing;
}

}  // namespace balance
