// SPDX-License-Identifier: MIT
// Where the files that the processes of one balancer share lie: the table, the lease and the mark of a start.
// Floor 3. Any thread.
#pragma once

#include <string>
#include <vector>

#include "loadprobe/base/result.h"

namespace balance {

struct StateFiles {
  std::string table;     // <directory>/<base name of the configuration>.table
  std::string lease;     // ....lease
  std::string starting;  // ....starting: when a poolwatch was last started on demand
  std::string log;       // ....log: what such a poolwatch has to say
  std::string by_hand;   // ....byhand: what was set by hand, where it is not kept in keep-dir (hand_files.h)
  std::string used;      // ....used: a copy of the configuration that is in use (used_config.h)
  std::string told;      // ....told: when somebody last told of the configuration's faults
};
StateFiles state_files(const std::string& directory, const std::string& config_file);

// The system's own places; tests name others.
struct StateRoots {
  std::string standard = "/run/balance";
  std::string kept = "/var/lib/balance";
  std::string temporary = "/tmp";
  unsigned user = 0;  // effective
};
StateRoots system_roots();

// The directory for this user, made if need be, and the files in it.
// With `configured` (state-dir) it is that or an error. Else the standard one, if this user may write it or the table
// in it; else <temporary>/balance-UID with mode 0700, an error unless it is a directory, no link, ours, and closed to
// others: anyone can put things into /tmp.
base::Result<StateFiles> find_state(const std::string& configured, const std::string& config_file,
                                    const StateRoots& roots);
base::Result<StateFiles> find_state(const std::string& configured, const std::string& config_file);

// The places among which find_state() chooses for this user. Nothing is made; one below <temporary> is among them only
// if it passes.
std::vector<StateFiles> places_of_state(const std::string& configured, const std::string& config_file,
                                        const StateRoots& roots);

// Every place where the table of a configuration may lie, for whoever wants to look: as root also those of all other
// users under <temporary>. Nothing is made; only places that hold a table of that name and, below <temporary>, pass the
// same test of ownership for their user.
std::vector<StateFiles> existing_states(const std::string& configured, const std::string& config_file,
                                        const StateRoots& roots);

// Gives a file just made to those who share its directory: mode 0660, and the directory's group if that group may write
// there. A group that cannot be set, or a file of another owner, is no error.
base::Status share_with_group(int fd, const std::string& path);

}  // namespace balance
