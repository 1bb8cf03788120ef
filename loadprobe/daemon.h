// SPDX-License-Identifier: MIT
// loadprobe as a server in the foreground: waits for connections, requests and signals.
// Floor 3. Called once, on the only thread.
#pragma once

#include <functional>

#include "loadprobe/base/result.h"
#include "loadprobe/probe.h"
#include "loadprobe/probe_config.h"

namespace loadprobe {

// Serves until SIGTERM or SIGINT. At SIGHUP `reload` gives the configuration anew; if it is faulty the old one stays.
// Where to listen is not changed while it runs.
base::Status serve(const ProbeConfig& config, const Teller& teller,
                   const std::function<base::Result<ProbeConfig>()>& reload);

// One log line for each line of an error.
void log_faults(const base::Error& error);

}  // namespace loadprobe
