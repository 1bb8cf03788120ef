// SPDX-License-Identifier: MIT
// The prober on the real network: loadprobe and node_exporter over HTTP, rstatd over UDP, web ports by a TCP connect or
// an HTTP GET, all in one wait.
// Floor 3. Used by one thread.
#pragma once

#include <poll.h>

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "balance/ground/config.h"
#include "balance/watch/http.h"
#include "balance/watch/prober.h"
#include "balance/watch/resolver.h"
#include "balance/watch/rstat.h"
#include "balance/watch/rstat_probes.h"
#include "balance/watch/tcp_checks.h"
#include "loadprobe/base/result.h"

namespace balance {

class NetworkProber final : public Prober {
 public:
  // `trust`: who vouches for https hosts. `resolver` is another's and must live longer.
  static base::Result<NetworkProber> create(const std::vector<HostConfig>& hosts, const ProbeConfig& probe,
                                            const RelayConfig& trust, Resolver& resolver,
                                            std::uint16_t port_mapper_port = kPortMapperPort);

  void start_probe(const ProbeQuestion& question, base::Instant now) override;
  void start_web_check(std::size_t host, base::Instant now) override;
  std::vector<Outcome> take(base::Instant now) override;

  // Waits until something has moved, one of `others` is ready (their revents are set) or the time is over.
  void wait(std::vector<pollfd>& others, base::Instant now, base::Seconds most);

 private:
  NetworkProber(const std::vector<HostConfig>& hosts, const ProbeConfig& probe, Resolver& resolver, HttpClient http,
                std::uint16_t port_mapper_port);

  // A question whose name is being looked up.
  struct Pending {
    Outcome::Of of = Outcome::Of::probe;
    ProbeQuestion question;
    base::Instant deadline{};
  };
  // What to leave out of node_exporter's collect[] filter: one that is disabled there is answered with status 400.
  enum class Collectors : std::uint8_t { with_pressure, without_pressure, unfiltered };

  void go_on(Pending pending, base::Instant now);
  void ask(const Pending& pending, const std::vector<base::Address>& addresses, base::Instant now);
  void ask_over_http(const Pending& pending, const std::vector<base::Address>& addresses, base::Instant now);
  void fail(const Pending& pending, ProbeFailure failure);
  void hear(HttpOutcome outcome, base::Instant now);
  void hear_report(std::size_t host, const HttpAnswer& answer, base::Instant now);
  std::string target_of(const ProbeQuestion& question) const;

  std::vector<HostConfig> hosts_;
  ProbeConfig probe_;
  Resolver* resolver_;
  HttpClient http_;
  TcpChecks tcp_;
  RstatProbes rstat_;
  std::vector<Pending> pending_;
  std::vector<Pending> under_way_;      // by host: the probe that goes over HTTP
  std::vector<Collectors> collectors_;  // by host
  std::vector<Outcome> ended_;
  std::vector<pollfd> polls_;  // of the last wait; kept for its memory
  std::size_t tcp_polls_ = 0;  // where those of tcp_ begin
};

}  // namespace balance
