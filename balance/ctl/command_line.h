// SPDX-License-Identifier: MIT
// balancectl's command line as a value. Floor 3 (Boost.Program_options in the .cc alone).
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "balance/ctl/explain.h"
#include "loadprobe/base/result.h"
#include "loadprobe/base/time.h"

namespace balance {

enum class Verb { help, version, status, explain, check, list };
enum class Form { text, json };

struct Command {
  Verb verb = Verb::help;
  std::string config;                    // --config, "" if it was not given
  Form form = Form::text;                // status
  std::optional<base::Seconds> watch;    // status: redraw so often
  std::optional<std::uint64_t> redraws;  // status --watch: end after so many
  Inquiry inquiry;                       // explain
};

// Errors: Fault::usage, one sentence.
base::Result<Command> parse_command_line(const std::vector<std::string>& arguments);

std::string usage_text();

}  // namespace balance
