// SPDX-License-Identifier: MIT
// balancectl weight, reset, drain, off and ready. Floor 3: they read and write files and the table, wait, and write to
// standard output and error.
#pragma once

#include "balance/ctl/command_line.h"
#include "balance/ground/config.h"

namespace balance {

// The exit status: 0 fine, 1 failed at work, 2 a host that there is not.
int set_by_hand(const Command& command, const Config& config);

}  // namespace balance
