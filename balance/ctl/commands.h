// SPDX-License-Identifier: MIT
// balancectl's commands. Floor 3: they read files, clocks and the table, and write to standard output and error.
#pragma once

#include "balance/ctl/command_line.h"

namespace balance {

// The exit status: 0 fine, 1 failed at work, 2 bad usage or configuration.
int run(const Command& command);

}  // namespace balance
