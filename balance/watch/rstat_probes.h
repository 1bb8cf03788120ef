// SPDX-License-Identifier: MIT
// Asks rpc.rstatd of many hosts at once, over one connected UDP socket a probe; where the port is not configured, the
// port mapper is asked first and its answer kept until it fails.
// Floor 3. Used by one thread.
#pragma once

#include <poll.h>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "balance/watch/outcome.h"
#include "loadprobe/base/fd.h"
#include "loadprobe/base/network.h"
#include "loadprobe/base/time.h"

namespace balance {

class RstatProbes {
 public:
  // `port_mapper_port` is 111 but in tests.
  explicit RstatProbes(std::uint16_t port_mapper_port);

  struct Target {
    std::size_t host = 0;
    std::vector<base::Address> addresses;  // at least one; the first IPv4 one is asked, else the first
    std::uint16_t port = 0;                // 0: the port mapper knows
    std::uint32_t xid = 0;                 // not to be guessed: an answer is believed by it
    base::Seconds timeout{0.5};
    base::Instant deadline{};
  };
  // REQUIRES: no probe of this host under way.
  void start(const Target& target);

  void add_polls(std::vector<pollfd>& polls) const;
  // Reads what has come, whatever the polls say: an ICMP error shows in no event.
  void advance(base::Instant now);

  base::Instant next_deadline() const;
  std::vector<Outcome> take();

 private:
  enum class Step : std::uint8_t { port_mapper, stats };
  struct Probe {
    Target target;
    base::Address address;
    Step step = Step::stats;
    bool asked_port_mapper = false;
    base::Fd socket;
  };
  void ask(Probe& probe, Step step, std::uint16_t port);
  void ask_port_mapper(Probe& probe);
  void hear(Probe& probe, std::string_view datagram);
  void fail(Probe& probe, ProbeFailure failure);
  void end(Probe& probe, decltype(Outcome::what) what);

  std::uint16_t port_mapper_port_;
  std::unordered_map<std::size_t, std::uint16_t> ports_;  // what port mappers said, by host
  std::vector<Probe> probes_;                             // a probe without a socket has ended
  std::vector<Outcome> ended_;
};

}  // namespace balance
