// SPDX-License-Identifier: MIT
// Does a TCP port take connections? All addresses of a host are tried at once; the first that connects answers for it.
// Floor 3. Used by one thread.
#pragma once

#include <poll.h>

#include <cstddef>
#include <cstdint>
#include <vector>

#include "balance/watch/outcome.h"
#include "loadprobe/base/fd.h"
#include "loadprobe/base/network.h"
#include "loadprobe/base/time.h"

namespace balance {

class TcpChecks {
 public:
  // Begins a check that ends at `deadline`; `timeout` is what its cause tells.
  // REQUIRES: at least one address; no check of this host under way.
  struct Target {
    std::size_t host = 0;
    std::vector<base::Address> addresses;
    std::uint16_t port = 80;
    base::Seconds timeout{1};
    base::Instant deadline{};
  };
  void start(const Target& target);

  // Appends what to wait for, and reads back what came of it: `polls` is the list as it was left.
  void add_polls(std::vector<pollfd>& polls) const;
  void advance(const std::vector<pollfd>& polls, std::size_t first, base::Instant now);

  base::Instant next_deadline() const;  // far in the future where nothing is under way
  std::vector<Outcome> take();

 private:
  struct Check {
    std::size_t host = 0;
    base::Seconds timeout{};
    base::Instant deadline{};
    std::vector<base::Fd> attempts;
    ProbeFailure failure;  // of those that failed
    bool failed = false;
  };
  static void note(Check& check, int error);
  void end(const Check& check, ProbeFailure failure);
  std::vector<Check> checks_;
  std::vector<Outcome> ended_;
};

}  // namespace balance
