// SPDX-License-Identifier: MIT
// See network_prober.h.
#include "balance/watch/network_prober.h"

#include <algorithm>
#include <array>
#include <cstdio>
#include <iterator>
#include <utility>

#include "balance/ground/host_answer.h"
#include "loadprobe/base/clock.h"
#include "loadprobe/base/text.h"

namespace balance {
namespace {

std::string hexadecimal(std::uint64_t number) {
  std::array<char, 17> text{};
  std::snprintf(text.data(), text.size(), "%016llx", static_cast<unsigned long long>(number));
  return text.data();
}

std::string cause_of(unsigned status) {
  std::string text = "HTTP status " + std::to_string(status);
  if (status == 403) return text + ": its 'allow' does not have this balancer's address";
  if (status >= 300 && status < 400) return text + ": redirects are not followed";
  return text;
}

// What speaks against the host in its answer to a web check; "" for nothing. A client's fault (a path that is not
// there, a request that makes no sense) does not.
std::string trouble_with(const HttpAnswer& answer) {
  if (answer.status >= 500) return "HTTP status " + std::to_string(answer.status);
  HostHead head;
  head.status = static_cast<int>(answer.status);
  head.headers.emplace_back("Content-Type", answer.type);
  const std::optional<Judgement> judgement = judge(Wanted::anything, head, answer.body, Rest::none);
  return judgement && judgement->answered == Answered::host_fault ? judgement->why : "";
}

}  // namespace

base::Result<NetworkProber> NetworkProber::create(const std::vector<HostConfig>& hosts, const ProbeConfig& probe,
                                                  const RelayConfig& trust, Resolver& resolver,
                                                  std::uint16_t port_mapper_port) {
  // Slot i is host i's probe, slot hosts + i its web check.
  base::Result<HttpClient> http = HttpClient::create(probe.web_path.empty() ? hosts.size() : 2 * hosts.size(), trust);
  if (!http) return http.error();
  return NetworkProber(hosts, probe, resolver, *std::move(http), port_mapper_port);
}

NetworkProber::NetworkProber(const std::vector<HostConfig>& hosts, const ProbeConfig& probe, Resolver& resolver,
                             HttpClient http, std::uint16_t port_mapper_port)
    : hosts_(hosts),
      probe_(probe),
      resolver_(&resolver),
      http_(std::move(http)),
      rstat_(port_mapper_port),
      under_way_(hosts.size()),
      collectors_(hosts.size(), Collectors::with_pressure) {}

void NetworkProber::start_probe(const ProbeQuestion& question, base::Instant now) {
  go_on({Outcome::Of::probe, question, now + probe_.timeout}, now);
}

void NetworkProber::start_web_check(std::size_t host, base::Instant now) {
  go_on({Outcome::Of::web, {host, 0, 0, false}, now + probe_.web_timeout}, now);
}

void NetworkProber::go_on(Pending pending, base::Instant now) {
  const Resolved resolved = resolver_->find(hosts_[pending.question.host].inside.host, now);
  switch (resolved.state) {
    case Resolved::State::known:
      return ask(pending, resolved.addresses, now);
    case Resolved::State::failed:
      return fail(pending, {Failure::unresolvable, resolved.failure});
    case Resolved::State::pending:
      break;
  }
  if (now < pending.deadline) {
    pending_.push_back(pending);
    return;
  }
  const base::Seconds timeout = pending.of == Outcome::Of::web ? probe_.web_timeout : probe_.timeout;
  fail(pending, {Failure::unresolvable, "name not looked up within " + base::to_text(timeout)});
}

void NetworkProber::fail(const Pending& pending, ProbeFailure failure) {
  ended_.push_back({pending.question.host, pending.of, std::move(failure)});
}

void NetworkProber::ask(const Pending& pending, const std::vector<base::Address>& addresses, base::Instant now) {
  const HostConfig& host = hosts_[pending.question.host];
  if (pending.of == Outcome::Of::web && probe_.web_path.empty()) {
    return tcp_.start({pending.question.host, addresses, host.inside.port, probe_.web_timeout, pending.deadline});
  }
  if (pending.of == Outcome::Of::probe && host.probe == ProbeKind::rstat) {
    const auto xid = static_cast<std::uint32_t>(base::random_bits());
    return rstat_.start({pending.question.host, addresses, host.probe_port, xid, probe_.timeout, pending.deadline});
  }
  ask_over_http(pending, addresses, now);
}

std::string NetworkProber::target_of(const ProbeQuestion& question) const {
  if (hosts_[question.host].probe == ProbeKind::loadprobe) {
    return "/metrics?balancer=" + hexadecimal(question.balancer) +
           "&dispatched=" + std::to_string(question.dispatched) + (question.map_processes ? "&map_processes=1" : "");
  }
  std::string filtered = "/metrics?collect%5B%5D=loadavg&collect%5B%5D=stat&collect%5B%5D=cpu";
  switch (collectors_[question.host]) {
    case Collectors::with_pressure:
      return filtered + "&collect%5B%5D=pressure";
    case Collectors::without_pressure:
      return filtered;
    case Collectors::unfiltered:
      break;
  }
  return "/metrics";
}

void NetworkProber::ask_over_http(const Pending& pending, const std::vector<base::Address>& addresses,
                                  base::Instant now) {
  const std::size_t index = pending.question.host;
  HttpQuestion question{hosts_[index].inside, "", addresses, pending.deadline - now, HttpQuestion::Want::all};
  std::size_t slot = index;
  if (pending.of == Outcome::Of::web) {
    slot += hosts_.size();
    question.target = probe_.web_path;
    question.want = HttpQuestion::Want::beginning;
  } else {
    under_way_[index] = pending;
    question.server.scheme = Scheme::http;
    question.server.port = hosts_[index].probe_port;
    question.target = target_of(pending.question);
  }
  const base::Status started = http_.start(slot, question);
  if (!started) fail(pending, {Failure::garbage, started.error().what});
}

void NetworkProber::hear_report(std::size_t host, const HttpAnswer& answer, base::Instant now) {
  const Pending& probe = under_way_[host];
  Collectors& collectors = collectors_[host];
  if (answer.status == 400 && hosts_[host].probe == ProbeKind::node_exporter && collectors != Collectors::unfiltered) {
    collectors = collectors == Collectors::with_pressure ? Collectors::without_pressure : Collectors::unfiltered;
    if (now < probe.deadline) return go_on(probe, now);
  }
  if (answer.status != 200) return fail(probe, {Failure::garbage, cause_of(answer.status)});
  base::Result<loadprobe::Report> report = loadprobe::parse_report(answer.body);
  if (!report) return fail(probe, {Failure::garbage, report.error().what});
  ended_.push_back({host, Outcome::Of::probe, *std::move(report)});
}

void NetworkProber::hear(HttpOutcome outcome, base::Instant now) {
  const bool is_web = outcome.slot >= hosts_.size();
  const std::size_t host = is_web ? outcome.slot - hosts_.size() : outcome.slot;
  const Outcome::Of of = is_web ? Outcome::Of::web : Outcome::Of::probe;
  if (auto* failure = std::get_if<ProbeFailure>(&outcome.what)) {
    ended_.push_back({host, of, std::move(*failure)});
    return;
  }
  const HttpAnswer& answer = std::get<HttpAnswer>(outcome.what);
  if (!is_web) return hear_report(host, answer, now);
  const std::string trouble = trouble_with(answer);
  if (trouble.empty()) {
    ended_.push_back({host, of, WebAnswer{}});
  } else {
    ended_.push_back({host, of, ProbeFailure{Failure::garbage, trouble}});
  }
}

void NetworkProber::wait(std::vector<pollfd>& others, base::Instant now, base::Seconds most) {
  polls_ = others;
  polls_.push_back({resolver_->wake_fd(), POLLIN, 0});
  tcp_polls_ = polls_.size();
  tcp_.add_polls(polls_);
  rstat_.add_polls(polls_);
  base::Instant next = std::min(tcp_.next_deadline(), rstat_.next_deadline());
  for (const Pending& pending : pending_) next = std::min(next, pending.deadline);
  if (!ended_.empty()) next = now;
  http_.wait(polls_, std::clamp(next - now, base::Seconds{0}, most));
  std::copy_n(polls_.begin(), others.size(), others.begin());
}

std::vector<Outcome> NetworkProber::take(base::Instant now) {
  resolver_->acknowledge();
  for (const Pending& pending : std::exchange(pending_, {})) go_on(pending, now);
  tcp_.advance(polls_, tcp_polls_, now);
  rstat_.advance(now);
  polls_.clear();
  for (HttpOutcome& outcome : http_.take()) hear(std::move(outcome), now);
  for (std::vector<Outcome> more : {tcp_.take(), rstat_.take()}) {
    ended_.insert(ended_.end(), std::make_move_iterator(more.begin()), std::make_move_iterator(more.end()));
  }
  return std::exchange(ended_, {});
}

}  // namespace balance
