// SPDX-License-Identifier: MIT
// loadprobe: tells the load of a map host to balancers.
// Floor 4: argv in, exit status out.
#include <cstdlib>
#include <exception>

#include "loadprobe/base/fd.h"
#include "loadprobe/base/log.h"
#include "loadprobe/command_line.h"
#include "loadprobe/commands.h"
#include "loadprobe/daemon.h"

namespace {

int status_of(const base::Error& error) {
  loadprobe::log_faults(error);
  return error.fault == base::Fault::usage ? 2 : 1;
}

}  // namespace

int main(int argc, char** argv) {
  base::keep_standard_descriptors();
  base::log_as("loadprobe");
  try {
    const auto command = loadprobe::parse_command_line({argv + 1, argv + argc});
    if (!command) return status_of(command.error());
    const char* config = std::getenv("LOADPROBE_CONFIG");
    const base::Status done = loadprobe::run(*command, config ? config : "");
    return done ? 0 : status_of(done.error());
  } catch (const std::exception& fault) {
    base::log(base::Level::error, "stopped by an exception", {{"cause", fault.what()}});
    return 1;
  }
}
