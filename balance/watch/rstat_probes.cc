// SPDX-License-Identifier: MIT
// See rstat_probes.h.
#include "balance/watch/rstat_probes.h"

#include <sys/socket.h>
#include <sys/types.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <utility>

#include "balance/watch/rstat.h"
#include "balance/watch/sockets.h"
#include "loadprobe/base/text.h"

namespace balance {
namespace {

constexpr std::size_t kMostDatagramBytes = 1024;  // the longest answer has 528
constexpr int kMostDatagrams = 16;                // read at once from one host: a flood must not stop the loop

base::Address preferred(const std::vector<base::Address>& addresses) {
  // rstatd listens on IPv4 alone nearly everywhere.
  const auto v4 = std::find_if(addresses.begin(), addresses.end(), [](const auto& a) { return a.is_ipv4(); });
  return v4 != addresses.end() ? *v4 : addresses.front();
}

}  // namespace

RstatProbes::RstatProbes(std::uint16_t port_mapper_port) : port_mapper_port_(port_mapper_port) {}

void RstatProbes::start(const Target& target) {
  Probe probe{target, preferred(target.addresses), Step::stats, false, base::Fd()};
  const auto known = ports_.find(target.host);
  if (target.port != 0) {
    ask(probe, Step::stats, target.port);
  } else if (known != ports_.end()) {
    ask(probe, Step::stats, known->second);
  } else {
    ask_port_mapper(probe);
  }
  if (probe.socket) probes_.push_back(std::move(probe));
}

void RstatProbes::ask_port_mapper(Probe& probe) {
  probe.asked_port_mapper = true;
  ask(probe, Step::port_mapper, port_mapper_port_);
}

void RstatProbes::ask(Probe& probe, Step step, std::uint16_t port) {
  probe.step = step;
  Connecting connecting = start_connect(Transport::udp, probe.address, port);
  if (connecting.error != 0) return fail(probe, connect_failure(connecting.error));
  probe.socket = std::move(connecting.socket);
  const std::string call = step == Step::stats ? stats_call(probe.target.xid) : getport_call(probe.target.xid);
  if (::send(probe.socket.get(), call.data(), call.size(), MSG_NOSIGNAL) < 0) fail(probe, connect_failure(errno));
}

void RstatProbes::end(Probe& probe, decltype(Outcome::what) what) {
  probe.socket.close();
  ended_.push_back({probe.target.host, Outcome::Of::probe, std::move(what)});
}

void RstatProbes::fail(Probe& probe, ProbeFailure failure) {
  const bool was_told_port = probe.step == Step::stats && ports_.erase(probe.target.host) > 0;
  // rstatd may have started again at another port: this one is dead, the host need not be.
  if (was_told_port && !probe.asked_port_mapper && failure.failure == Failure::refused) return ask_port_mapper(probe);
  if (probe.step == Step::port_mapper) failure.what = "port mapper: " + failure.what;
  end(probe, std::move(failure));
}

void RstatProbes::hear(Probe& probe, std::string_view datagram) {
  if (!answers(datagram, probe.target.xid)) return;
  if (probe.step == Step::stats) {
    base::Result<loadprobe::Report> report = parse_stats(datagram);
    if (!report) return fail(probe, {Failure::garbage, report.error().what});
    return end(probe, *std::move(report));
  }
  const base::Result<std::uint16_t> port = parse_getport(datagram);
  if (!port) {
    return fail(probe, {port.error().fault == base::Fault::unavailable ? Failure::refused : Failure::garbage,
                        port.error().what});
  }
  ports_[probe.target.host] = *port;
  ask(probe, Step::stats, *port);
}

void RstatProbes::add_polls(std::vector<pollfd>& polls) const {
  for (const Probe& probe : probes_) polls.push_back({probe.socket.get(), POLLIN, 0});
}

void RstatProbes::advance(base::Instant now) {
  std::array<char, kMostDatagramBytes> bytes{};
  for (Probe& probe : probes_) {
    for (int i = 0; i < kMostDatagrams && probe.socket; ++i) {
      const ssize_t got = ::recv(probe.socket.get(), bytes.data(), bytes.size(), MSG_DONTWAIT);
      if (got >= 0) {
        hear(probe, std::string_view(bytes.data(), static_cast<std::size_t>(got)));
      } else if (errno == EAGAIN || errno == EWOULDBLOCK) {
        break;
      } else if (errno != EINTR) {
        fail(probe, connect_failure(errno));
      }
    }
    if (probe.socket && now >= probe.target.deadline) {
      fail(probe, {Failure::timeout, "no answer within " + base::to_text(probe.target.timeout)});
    }
  }
  probes_.erase(std::remove_if(probes_.begin(), probes_.end(), [](const Probe& probe) { return !probe.socket; }),
                probes_.end());
}

base::Instant RstatProbes::next_deadline() const {
  base::Instant next = base::Instant::max();
  for (const Probe& probe : probes_) next = std::min(next, probe.target.deadline);
  return next;
}

std::vector<Outcome> RstatProbes::take() { return std::exchange(ended_, {}); }

}  // namespace balance
