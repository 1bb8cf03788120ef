// SPDX-License-Identifier: MIT
// One host and one question to it over the loopback network.
#pragma once

#include <gtest/gtest.h>

#include <cstdint>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "balance/watch/network_prober.h"
#include "loadprobe/base/clock.h"
#include "tests/unit/watch_server.h"

namespace balance::testing {

inline HostConfig host_on(const std::string& name) {
  HostConfig host;
  host.name = "pinchot";
  host.inside.host = name;
  return host;
}

inline HostConfig probed_at(std::uint16_t port, ProbeKind kind = ProbeKind::loadprobe) {
  HostConfig host = host_on("127.0.0.1");
  host.probe = kind;
  host.probe_port = port;
  return host;
}

inline ProbeConfig patient() {
  ProbeConfig probe;
  probe.timeout = probe.web_timeout = base::Seconds{5};
  return probe;
}

// One host and what becomes of one question to it.
class Trial {
 public:
  explicit Trial(const HostConfig& host, const ProbeConfig& probe = patient(),
                 std::uint16_t port_mapper_port = kPortMapperPort, Resolver::Lookup lookup = Resolver::system_lookup)
      : resolver_(std::move(lookup)),
        prober_(*NetworkProber::create({host}, probe, RelayConfig{}, resolver_, port_mapper_port)) {}

  Outcome probe(const ProbeQuestion& question = {0, 0x0123456789abcdefU, 42}) {
    prober_.start_probe(question, base::now());
    return outcome();
  }
  Outcome web_check() {
    prober_.start_web_check(0, base::now());
    return outcome();
  }

 private:
  Outcome outcome() {
    std::vector<pollfd> others;
    const base::Instant give_up = base::now() + base::Seconds{10};
    while (base::now() < give_up) {
      std::vector<Outcome> outcomes = prober_.take(base::now());
      if (!outcomes.empty()) {
        EXPECT_EQ(outcomes.size(), 1U);
        return outcomes.front();
      }
      prober_.wait(others, base::now(), base::Seconds{1});
    }
    ADD_FAILURE() << "no outcome within 10 s";
    return {};
  }
  Resolver resolver_;
  NetworkProber prober_;
};

inline ProbeFailure failure_of(const Outcome& outcome) {
  const auto* failure = std::get_if<ProbeFailure>(&outcome.what);
  EXPECT_NE(failure, nullptr) << "no failure";
  return failure != nullptr ? *failure : ProbeFailure{};
}

inline Report report_of(const Outcome& outcome) {
  const auto* report = std::get_if<Report>(&outcome.what);
  EXPECT_NE(report, nullptr) << failure_of(outcome).what;
  return report != nullptr ? *report : Report{};
}

}  // namespace balance::testing
