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

enum class Verb { help, version, status, explain, check, list, weight, reset, duty };
enum class Form { text, json };

struct Command {
  Verb verb = Verb::help;
  std::string config;                    // --config, "" if it was not given
  Form form = Form::text;                // status
  std::optional<base::Seconds> watch;    // status: redraw so often
  std::optional<std::uint64_t> redraws;  // status --watch: end after so many
  Inquiry inquiry;                       // explain
  std::vector<std::string> hosts;        // weight, reset, duty: at least one
  std::optional<double> weight;          // weight: 0 to 1000
  std::optional<Duty> duty;              // duty: drain, off, ready
  std::string reason;                    // duty
  std::optional<base::Seconds> lasts;    // duty: ends by itself after so long
  bool wait = false;                     // duty: until the host has finished
  std::optional<base::Seconds> timeout;  // of the wait
};

// Errors: Fault::usage, one sentence.
base::Result<Command> parse_command_line(const std::vector<std::string>& arguments);

std::string usage_text();

}  // namespace balance
