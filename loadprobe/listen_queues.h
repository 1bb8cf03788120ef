// SPDX-License-Identifier: MIT
// Asks the kernel how many connections wait in listening sockets, as ss(8) does; needs no privilege. It tells only of
// sockets in our own network namespace.
// Floor 3. One thread.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "loadprobe/base/result.h"
#include "loadprobe/sock_diag.h"

namespace loadprobe {

// All listening sockets of a family.
base::Result<std::vector<Listening>> listening_sockets(Family family);

class ListenQueues {
 public:
  explicit ListenQueues(std::vector<Queue> queues) : queues_(std::move(queues)) {}

  // The connections that wait in all queues together; nothing without queues, and nothing if one of them is not there:
  // a part would look like the whole. The causes, by queue, are in causes().
  std::optional<double> waiting();
  const std::map<std::string, std::string>& causes() const { return causes_; }

 private:
  std::vector<Queue> queues_;
  std::map<std::string, std::string> causes_;
};

}  // namespace loadprobe
