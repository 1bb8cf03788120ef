// SPDX-License-Identifier: MIT
// balancectl: shows the administrator what the balancer knows and why it decides as it does. Floor 4.
#include <csignal>
#include <exception>
#include <iostream>
#include <string>
#include <vector>

#include "balance/ctl/commands.h"

int main(int argc, char** argv) {
  std::signal(SIGPIPE, SIG_IGN);  // a closed pipe is an output error like any other
  try {
    const std::vector<std::string> arguments(argv + (argc > 0 ? 1 : 0), argv + argc);
    const base::Result<balance::Command> command = balance::parse_command_line(arguments);
    if (command) return balance::run(*command);
    std::cerr << "balancectl: " << command.error().what << "\nTry 'balancectl --help'.\n";
    return 2;
  } catch (const std::exception& error) {
    std::cerr << "balancectl: " << error.what() << "\n";
    return 1;
  }
}
