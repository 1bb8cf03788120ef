// SPDX-License-Identifier: MIT
// loadprobe's command line as a value, read with Boost.Program_options.
// Floor 1: pure functions over text.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "loadprobe/base/result.h"

namespace loadprobe {

struct Command {
  enum class Kind { serve, once, check, drain, ready, help, version };
  Kind kind = Kind::serve;
  std::optional<std::string> config;  // --config
  std::string reason;                 // of --drain: the words behind it
};

// The arguments without the program's name.
base::Result<Command> parse_command_line(const std::vector<std::string>& arguments);

// What --help prints.
std::string usage();

}  // namespace loadprobe
