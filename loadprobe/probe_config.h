// SPDX-License-Identifier: MIT
// loadprobe.conf as a value.
// Floor 1: pure functions over text.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "loadprobe/base/network.h"
#include "loadprobe/base/result.h"
#include "loadprobe/sock_diag.h"

namespace loadprobe {

// Whose load is told: the whole machine's, that of a control group and those below it, or that of a process and its
// descendants.
struct Scope {
  enum class Kind { host, cgroup, tree };
  Kind kind = Kind::host;
  std::string group;     // below the mount, '/hosts/pinchot'; "" is the root group
  std::string pid_file;  // of a tree's first process
  friend bool operator==(const Scope&, const Scope&) = default;
};

struct ProbeConfig {
  std::vector<base::Endpoint> listen;
  std::vector<base::Cidr> allow;
  Scope scope;
  std::vector<Queue> queues;
  std::string drain_file;
};

// What holds without a configuration: [::]:9719, local networks, the whole machine, /run/loadprobe/drain.
ProbeConfig default_config();

// All faults at once, as base::all_faults lists them.
base::Result<ProbeConfig> parse_config(std::string_view text, const std::string& file);

}  // namespace loadprobe
