// SPDX-License-Identifier: MIT
// The configuration that the programs go by: the file's, or, while that has faults, the one that poolwatch kept.
// Floor 3.
#pragma once

#include <string>
#include <vector>

#include "balance/ground/config.h"
#include "balance/table/state_dir.h"
#include "loadprobe/base/result.h"

namespace balance {

struct InUse {
  Config config;
  std::vector<std::string> faults;  // of the file as it is now; none: it is what `config` was read from
};

// Of several kept ones that whose table was touched last. The error is the file's, with all its faults, where no
// configuration is known to be in use.
base::Result<InUse> find_in_use(const std::string& config_file, const StateRoots& roots, const std::string& boot_id);

}  // namespace balance
