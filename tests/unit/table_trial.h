// SPDX-License-Identifier: MIT
// What the tests of the table share: its shape, a standing in which every field says something, and damage.
#pragma once

#include <cstddef>
#include <fstream>
#include <string>
#include <string_view>

#include "balance/table/table.h"
#include "tests/unit/scratch_dir.h"
#include "tests/unit/tables.h"

namespace balance {

constexpr Instant kNow{Seconds{1000}};
const TableShape kShape{.fingerprint = 7, .hosts = 3, .boot_id = "boot-one"};

inline Standing example() {
  Standing standing;
  standing.health = Health::wrong;
  standing.duty = Duty::draining;
  standing.web = WebPort::silent;
  standing.probe_refused = true;
  standing.reported = Instant{Seconds{12.5}};
  standing.web_answered = Instant{Seconds{13}};
  standing.up_since = Instant{Seconds{-3}};
  standing.changed = Instant{Seconds{14.25}};
  standing.cores = 2.5;
  standing.background = -0.25;
  standing.mean_service_seconds = 0.125;
  standing.running = 3;
  standing.load1 = 0.5;
  standing.cause = "web port: connection refused";
  return standing;
}

inline void overwrite(const std::string& path, std::size_t offset, std::string_view bytes) {
  std::fstream file(path, std::ios::in | std::ios::out | std::ios::binary);
  file.seekp(static_cast<std::streamoff>(offset));
  file.write(bytes.data(), static_cast<std::streamsize>(bytes.size()));
}

}  // namespace balance
