// SPDX-License-Identifier: MIT
// How balancectl changes what is set by hand: the file that keeps it, and at once every table of the configuration.
// Floor 3.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "balance/ground/config.h"
#include "balance/ground/hand_file.h"
#include "balance/table/state_dir.h"
#include "loadprobe/base/result.h"

namespace balance {

// Changes the entries in place; seconds since 1970. An error leaves everything as it was.
using HandChange = std::function<base::Status(std::vector<HandEntry>& entries, std::int64_t now)>;

struct HandChanged {
  std::string path;                 // of the file
  std::vector<std::string> tables;  // that count it already
  std::vector<std::string> notes;   // one sentence each: what the administrator should know
};

// One at a time over all processes: the next one waits up to 10 s. The file's owner stays; a new one has its folder's,
// and everybody may read it. Fault::io: it may not be written, or the system refuses; then nothing has changed.
base::Result<HandChanged> change_by_hand(const Config& config, const StateRoots& roots, const std::string& boot_id,
                                         const HandChange& change);

// Whether what was set by hand, and weights of 0, leave no host that takes new clients; `now` in seconds since 1970.
bool leaves_nobody(const Config& config, const std::vector<HandEntry>& entries, std::int64_t now);

// The entry of a host, made if need be.
HandEntry& entry_of(std::vector<HandEntry>& entries, const std::string& host);

}  // namespace balance
