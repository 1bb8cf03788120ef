// SPDX-License-Identifier: MIT
// The door between what poolwatch decides (watcher.h) and the network: questions out, outcomes in.
// Floor 3. Used by one thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "balance/watch/outcome.h"
#include "loadprobe/base/time.h"

namespace balance {

struct ProbeQuestion {
  std::size_t host = 0;          // index in Config::hosts
  std::uint64_t balancer = 0;    // who asks
  std::uint64_t dispatched = 0;  // what it has sent to this host, ever
  bool map_processes = false;    // count those at work, where the probe can
};

class Prober {
 public:
  virtual ~Prober() = default;

  // Each start leads to exactly one outcome, within the configured timeout of `now`.
  // REQUIRES: no probe (no web check) of this host under way; its kind is not `none`.
  virtual void start_probe(const ProbeQuestion& question, base::Instant now) = 0;
  virtual void start_web_check(std::size_t host, base::Instant now) = 0;

  // What has come to an end by `now`.
  virtual std::vector<Outcome> take(base::Instant now) = 0;
};

}  // namespace balance
