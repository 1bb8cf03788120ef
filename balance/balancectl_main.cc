// SPDX-License-Identifier: MIT
// balancectl: shows the administrator what the balancer knows and why it decides as it does, and brings old pages over
// to it. Floor 4.
#include <algorithm>
#include <csignal>
#include <exception>
#include <iostream>
#include <span>
#include <string>
#include <vector>

#include "balance/ctl/commands.h"
#include "balance/forms/command.h"
#include "loadprobe/base/fd.h"

namespace {

// It reads no configuration and has options of its own.
int forms(std::span<const std::string> arguments) {
  const int result = balance::forms::forms_command(arguments, std::cout, std::cerr);
  return std::cout.flush() ? result : std::max(result, 1);
}

}  // namespace

int main(int argc, char** argv) {
  base::keep_standard_descriptors();
  std::signal(SIGPIPE, SIG_IGN);  // a closed pipe is an output error like any other
  try {
    const std::vector<std::string> arguments(argv + (argc > 0 ? 1 : 0), argv + argc);
    if (!arguments.empty() && arguments.front() == "forms") return forms(std::span(arguments).subspan(1));
    const base::Result<balance::Command> command = balance::parse_command_line(arguments);
    if (command) return balance::run(*command);
    std::cerr << "balancectl: " << command.error().what << "\nTry 'balancectl --help'.\n";
    return 2;
  } catch (const std::exception& error) {
    std::cerr << "balancectl: " << error.what() << "\n";
    return 1;
  }
}
