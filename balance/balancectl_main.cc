// SPDX-License-Identifier: MIT
// balancectl: shows the administrator what the balancer knows and why it decides as it does, and brings old pages and
// an old balance.pl over to it. Floor 4.
#include <algorithm>
#include <csignal>
#include <exception>
#include <iostream>
#include <span>
#include <string>
#include <vector>

#include "balance/ctl/commands.h"
#include "balance/forms/command.h"
#include "balance/perl/command.h"
#include "loadprobe/base/fd.h"

namespace {

using Tool = int (*)(std::span<const std::string> arguments, std::ostream& out, std::ostream& err);

// The commands that read no configuration and have options of their own.
Tool tool_named(const std::string& word) {
  if (word == "forms") return balance::forms::forms_command;
  if (word == "import") return balance::perl::import_command;
  return nullptr;
}

}  // namespace

int main(int argc, char** argv) {
  base::keep_standard_descriptors();
  std::signal(SIGPIPE, SIG_IGN);  // a closed pipe is an output error like any other
  try {
    const std::vector<std::string> arguments(argv + (argc > 0 ? 1 : 0), argv + argc);
    if (const Tool tool = arguments.empty() ? nullptr : tool_named(arguments.front())) {
      const int result = tool(std::span(arguments).subspan(1), std::cout, std::cerr);
      return std::cout.flush() ? result : std::max(result, 1);
    }
    const base::Result<balance::Command> command = balance::parse_command_line(arguments);
    if (command) return balance::run(*command);
    std::cerr << "balancectl: " << command.error().what << "\nTry 'balancectl --help'.\n";
    return 2;
  } catch (const std::exception& error) {
    std::cerr << "balancectl: " << error.what() << "\n";
    return 1;
  }
}
