// SPDX-License-Identifier: MIT
// Starts a poolwatch on demand, detached from the web server. Floor 3. Any thread.
#pragma once

#include <string>
#include <string_view>

#include "balance/table/state_dir.h"
#include "loadprobe/base/result.h"
#include "loadprobe/base/time.h"

namespace balance {

enum class Launch {
  started,
  not_needed,  // somebody holds the lease
  too_soon,    // this process or another one tried within the last second
};

// Starts `poolwatch --config FILE --on-demand --log FILE` unless one runs, at most once a second over all processes
// that share the state directory. `program` is its path; the caller is back after two forks, without waiting for
// anything the new process does. `config_file` is absolute. An error too: somebody holds the lease for another
// configuration.
base::Result<Launch> launch_poolwatch(const std::string& program, const std::string& config_file,
                                      const StateFiles& files, base::Instant now);

// A program in the folder of the running one, links resolved.
std::string program_beside_us(std::string_view name);
std::string poolwatch_beside_us();

}  // namespace balance
