// SPDX-License-Identifier: MIT
// The configuration that is in use, kept beside the table by poolwatch: a balance that starts while somebody edits the
// configuration goes by it, as one that runs goes on with the one it has.
// Floor 3. Any thread.
#pragma once

#include <string>
#include <string_view>

#include "balance/ground/config.h"
#include "balance/table/state_dir.h"
#include "loadprobe/base/result.h"
#include "loadprobe/base/time.h"

namespace balance {

// Writes the copy, unless it stands there already: readable for its owner and the group that the table is for, writable
// for its owner alone. Where it cannot be written an older one is taken away, since that is not what is in use.
// REQUIRES: the caller holds the lease.
base::Status keep_used_config(const StateFiles& files, const std::string& config_file, std::string_view text);

struct UsedConfig {
  std::string text;  // without the copy's first line: the same fingerprint
  Config config;     // its `file` is the configuration's, not the copy's
};
// Reads the copy of `config_file` and checks it as any configuration. Fault::unavailable: there is none. Fault::io: it
// is no regular file, is another configuration's, may be written by others than its owner, or belongs to somebody who
// is neither root nor the folder's owner (nor, in a folder of root's, `user`).
base::Result<UsedConfig> read_used_config(const StateFiles& files, const std::string& config_file, unsigned user);

// The first copy of those that lie where this user's processes may keep theirs, and in the state-dir that the faulty
// text still names. Nothing is made. The error says why each that is there cannot be used; Fault::unavailable: none is.
base::Result<UsedConfig> find_used_config(std::string_view faulty_text, const std::string& config_file,
                                          const StateRoots& roots);

// The state-dir that a faulty text names in a line that is in order; "": none.
std::string state_dir_in(std::string_view faulty_text);

// Whether it is time to tell of a faulty configuration: the first time, and then every 10 s, over all processes that
// share the folder. `wall` is the wall clock. Every time where that cannot be noted.
bool is_time_to_tell(const StateFiles& files, base::Seconds wall);

}  // namespace balance
