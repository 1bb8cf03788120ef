// SPDX-License-Identifier: MIT
// What each command of loadprobe does.
// Floor 3. One thread.
#pragma once

#include <string>

#include "loadprobe/base/result.h"
#include "loadprobe/command_line.h"

namespace loadprobe {

// Carries out the command. `from_environment` is LOADPROBE_CONFIG, or "".
base::Status run(const Command& command, const std::string& from_environment);

}  // namespace loadprobe
